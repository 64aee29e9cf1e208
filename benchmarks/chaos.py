"""Play a tournament undisturbed, then again while nodes and broker are killed, and compare.

./run chaos [--matches N] [--every S] [--json FILE]
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, sleep
from typing import Any

from benchmarks.options import parser, seconds, whole, write_json
from benchmarks.stacks import private_stack
from benchmarks.table import table
from evalsite.stack import Stack

N_NODES = 2
N_AGENTS = 10
UNDISTURBED_S = 60.0
"""How long 2,000 matches last undisturbed; other numbers in proportion."""
MATCH_S = UNDISTURBED_S * N_NODES / 2_000
LIMIT_S = 1_200.0
POLL_S = 0.02


@dataclass
class Killer:
    """Kills a node every so often, in turn, and the broker twice; notes how long each takes."""

    stack: Stack
    every_s: float
    broker_at: tuple[int, ...]
    """After how many recorded matches the broker is killed."""
    n_kills: int = 0
    n_broker_kills: int = 0
    recoveries_s: list[float] = field(default_factory=list)
    _next_at: float = field(default_factory=monotonic)
    _waiting: list[tuple[float, Callable[[], bool]]] = field(default_factory=list)

    def tick(self, n_done: int) -> None:
        """Kill what is due and note what has recovered."""
        now = monotonic()
        recovered = [(at, is_back) for at, is_back in self._waiting if is_back()]
        self.recoveries_s += [now - at for at, _ in recovered]
        self._waiting = [waiting for waiting in self._waiting if waiting not in recovered]
        if any(n_done >= at for at in self.broker_at[self.n_broker_kills :][:1]):
            self._kill_broker(n_done)
        if now >= self._next_at:
            self._next_at = now + self.every_s
            self._kill_node(f"node-{1 + self.n_kills % N_NODES}")

    def _kill_node(self, name: str) -> None:
        before = _incarnation(name)
        if self._kill(name):
            self.n_kills += 1
            self._waiting.append((monotonic(), lambda: _incarnation(name) != before))

    def _kill_broker(self, n_done: int) -> None:
        if self._kill("broker"):
            self.n_broker_kills += 1
            self._waiting.append((monotonic(), lambda: _n_done() > n_done))

    def _kill(self, name: str) -> bool:
        pid = self.stack.pids().get(name)
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return True


def _incarnation(node: str) -> str | None:
    from matches.models import Worker  # noqa: PLC0415 - Django is set up only now

    return Worker.objects.filter(node=node).values_list("incarnation", flat=True).first()


def _n_done() -> int:
    from matches.models import Outcome  # noqa: PLC0415

    return Outcome.objects.count()


def play(n_matches: int, *, on_tick: Callable[[int], None]) -> Any:
    """Play a tournament on the running stack; return it once it is closed and rated."""
    from matches.clock import db_now  # noqa: PLC0415
    from matches.models import Leaderboard  # noqa: PLC0415
    from matches.services.evaluation import Evaluation, start  # noqa: PLC0415
    from matches.services.tournaments import Plan  # noqa: PLC0415

    evaluation = Evaluation(
        game="skill_game",
        plan=Plan(name="chaos", n_matches=n_matches, pairing="random", seed=11),
        num_agents=N_AGENTS,
        game_parameters={"duration_s": MATCH_S},
    )
    tournament = start(evaluation, now=db_now())
    boards = Leaderboard.objects.filter(pk=tournament.leaderboard_id)
    deadline = monotonic() + LIMIT_S
    while monotonic() < deadline:
        tournament.refresh_from_db()
        if tournament.finished_at and boards.get().n_settled == tournament.n_done:
            return tournament
        on_tick(tournament.n_done)
        _show(tournament)
        sleep(POLL_S)
    raise TimeoutError(f"the tournament was not over after {LIMIT_S:g} s")


def _show(tournament: Any) -> None:
    if sys.stdout.isatty():
        print(f"\r{tournament.n_closed}/{tournament.n_matches}", end="", flush=True)


def ratings(tournament: Any) -> list[tuple[Any, ...]]:
    """Return every number of the ratings, agent by agent."""
    from matches.models import Rating  # noqa: PLC0415

    columns = ("agent_id", "mu", "sd", "live_mu", "live_sigma", "prefix_mu", "n_matches")
    rows = Rating.objects.filter(leaderboard=tournament.leaderboard).order_by("agent_id")
    return list(rows.values_list(*columns))


def n_counted(tournament: Any) -> int:
    """Return how many results the pair counts hold."""
    from matches.models import PairCount  # noqa: PLC0415

    rows = PairCount.objects.filter(leaderboard=tournament.leaderboard)
    return sum(map(sum, rows.values_list("n_first_wins", "n_draws", "n_second_wins")))


def n_closed(tournament: Any) -> tuple[int, int]:
    """Return how many of its matches have an outcome and how many are VOID, by their rows.

    The counters of the tournament do not serve here: it is over when they add up.
    """
    from matches.models import Match, Outcome  # noqa: PLC0415

    n_void = Match.objects.filter(tournament=tournament, state=Match.State.VOID).count()
    return Outcome.objects.filter(match__tournament=tournament).count(), n_void


def measure(stack: Stack, options: Any) -> dict[str, Any]:
    """Play both tournaments; return what was lost, doubled, and whether the ratings are equal."""
    n = options.matches
    calm_began = monotonic()
    calm = play(n, on_tick=lambda _: None)
    calm_s = monotonic() - calm_began
    n_before = _n_done()
    killer = Killer(stack, options.every, (n_before + n // 3, n_before + 2 * n // 3))
    began = monotonic()
    stormy = play(n, on_tick=lambda n_done: killer.tick(n_before + n_done))
    n_outcomes, n_void = n_closed(stormy)
    return {
        "matches": n,
        "lost": n - n_outcomes - n_void,
        "doubled": n_counted(stormy) - n_outcomes,
        "void": n_void,
        "ratings_equal": ratings(calm) == ratings(stormy),
        "kills": killer.n_kills,
        "broker_kills": killer.n_broker_kills,
        "recover_s_max": round(max(killer.recoveries_s, default=0.0), 2),
        "attempts_retried": stormy.n_retried,
        "reports_refused": stormy.n_refused,
        "undisturbed_s": round(calm_s, 2),
        "disturbed_s": round(monotonic() - began, 2),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; exit 1 when a match was lost or counted twice or a rating differs."""
    options_parser = parser("chaos", "Kill nodes and broker during a tournament; lose nothing.")
    options_parser.add_argument("--matches", type=whole(10), default=2_000)
    options_parser.add_argument("--every", type=seconds(0.1), default=2.0, metavar="S")
    options = options_parser.parse_args(arguments)
    with private_stack(nodes=N_NODES, slots=1) as stack:
        figures = measure(stack, options)
    print(table(["", "figure"], [[name, str(value)] for name, value in figures.items()]))
    write_json(options.json, figures)
    is_whole = not figures["lost"] and not figures["doubled"] and figures["ratings_equal"]
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
