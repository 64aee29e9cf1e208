"""Play a tournament undisturbed, then again while processes are killed, and compare.

./run chaos [--gpu] [--on DATABASE] [--matches N] [--every S] [--json FILE]
./run chaos --all [--on DATABASE] [--seed N] ...    (benchmarks.storm)

Play nodes are killed in turn and the broker twice; with --gpu agents are networks on the gpu queue,
and their only server is killed.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, NamedTuple

from benchmarks.networks import register_networks
from benchmarks.options import parser, seconds, whole, write_json
from benchmarks.stacks import private_stack
from benchmarks.storm.run import DATABASES
from benchmarks.storm.run import main as storm_over_all
from benchmarks.storm.servers import postgres
from benchmarks.table import table
from launcher.stack import Stack

N_NODES = 2
N_AGENTS = 10
N_NETWORKS = 6
UNDISTURBED_S = 60.0
"""How long 2,000 matches last undisturbed; other numbers in proportion."""
MATCH_S = UNDISTURBED_S * N_NODES / 2_000
LIMIT_S = 1_200.0
POLL_S = 0.02
LINE_EVERY_S = 10.0
"""How often a file or a pipe gets a line of progress: a run lasts for minutes."""


class Storm(NamedTuple):
    """What is killed while which matches are played."""

    victims: tuple[str, ...]
    kills_broker: bool
    every_s: float
    n_matches: int
    schedule: Callable[[int], Any]


@dataclass
class Killer:
    """Kills a victim every so often, in turn, and the broker; notes how long each is away."""

    stack: Stack
    victims: tuple[str, ...]
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
            self._kill_node(self.victims[self.n_kills % len(self.victims)])

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


def schedule_levels(n_matches: int) -> Any:
    """Schedule matches of the skill game that last some time."""
    from matches.ledger.evaluation import Evaluation, start_evaluation  # noqa: PLC0415
    from matches.plans import TournamentPlan  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    evaluation = Evaluation(
        game="skill_game",
        plan=TournamentPlan(name="chaos", n_matches=n_matches, pairing="random", seed=11),
        num_agents=N_AGENTS,
        game_parameters={"duration_s": MATCH_S},
    )
    return start_evaluation(evaluation, now=db_now())


def schedule_networks(n_matches: int) -> Any:
    """Schedule matches between networks on the gpu queue, on a leaderboard of their own."""
    from matches.ledger.tournaments import open_leaderboard, schedule_tournament  # noqa: PLC0415
    from matches.plans import TournamentPlan  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415

    agents = register_networks("chaos", N_NETWORKS, parameters={"hidden": "1024,1024,1024,1024"})
    board = open_leaderboard(f"chaos-{db_now():%H%M%S-%f}", game="connect_four")
    plan = TournamentPlan(
        name="chaos", n_matches=n_matches, pairing="random", seed=11, replays=True
    )
    return schedule_tournament(plan, leaderboard=board, agents=agents)


def play(tournament: Any, *, on_tick: Callable[[int], None]) -> Any:
    """Wait until a tournament of the running stack is closed and rated; return it."""
    from matches.models import Leaderboard  # noqa: PLC0415

    boards = Leaderboard.objects.filter(pk=tournament.leaderboard_id)
    began = shown_at = monotonic()
    while monotonic() < began + LIMIT_S:
        tournament.refresh_from_db()
        if tournament.finished_at and boards.get().n_settled == tournament.n_done:
            return tournament
        on_tick(tournament.n_done)
        shown_at = _show(tournament, began, shown_at)
        sleep(POLL_S)
    raise TimeoutError(f"the tournament was not over after {LIMIT_S:g} s")


def _show(tournament: Any, began: float, shown_at: float) -> float:
    """Show how far it is: at once on a terminal, else in lines; return when it was shown last."""
    now = monotonic()
    share = f"{tournament.n_closed}/{tournament.n_matches} matches, {now - began:.0f} s"
    if sys.stdout.isatty():
        print(f"\r{share}", end="", flush=True)
    elif now - shown_at >= LINE_EVERY_S:
        print(share, flush=True)
        return now
    return shown_at


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


def measure(stack: Stack, storm: Storm) -> dict[str, Any]:
    """Play both tournaments; return what was lost, doubled, and whether the ratings are equal."""
    n = storm.n_matches
    print(f"undisturbed: {n} matches", flush=True)
    calm_began = monotonic()
    calm = play(storm.schedule(n), on_tick=lambda _: None)
    calm_s = monotonic() - calm_began
    n_before = _n_done()
    broker_at = (n_before + n // 3, n_before + 2 * n // 3) if storm.kills_broker else ()
    killer = Killer(stack, storm.victims, storm.every_s, broker_at)
    print(f"undisturbed in {calm_s:.0f} s; the same again, disturbed", flush=True)
    began = monotonic()
    stormy = play(storm.schedule(n), on_tick=lambda n_done: killer.tick(n_before + n_done))
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
    if arguments and "--all" in arguments:
        return storm_over_all(arguments)
    options_parser = parser("chaos", "Kill processes during a tournament; lose nothing.")
    options_parser.add_argument("--gpu", action="store_true", help="kill the server of networks")
    options_parser.add_argument("--matches", type=whole(10), help="2000, or 1000 with --gpu")
    options_parser.add_argument("--every", type=seconds(0.1), metavar="S", help="2, 5 with --gpu")
    options_parser.add_argument("--on", choices=DATABASES, default="sqlite", help="sqlite")
    options = options_parser.parse_args(arguments)
    storm = _storm(is_gpu=options.gpu, every_s=options.every, n_matches=options.matches)
    n_gpus = int(options.gpu)
    with (
        open_database(options.on) as settings,
        private_stack(
            nodes=N_NODES, slots=1, gpus=n_gpus, web=options.gpu, settings=settings
        ) as stack,
    ):
        figures = measure(stack, storm)
    print(table(["", "figure"], [[name, str(value)] for name, value in figures.items()]))
    write_json(options.json, figures)
    is_whole = not figures["lost"] and not figures["doubled"] and figures["ratings_equal"]
    return 0 if is_whole else 1


@contextmanager
def open_database(name: str) -> Iterator[dict[str, str]]:
    """Yield the settings of a stack with this kind of database: PostgreSQL is not its own."""
    if name == "sqlite":
        yield {}
        return
    with TemporaryDirectory(prefix="evalsite-chaos-") as folder, postgres(Path(folder)) as url:
        yield {"DATABASE_URL": url}


def _storm(*, is_gpu: bool, every_s: float | None, n_matches: int | None) -> Storm:
    if is_gpu:
        return Storm(("gpu-1",), False, every_s or 5.0, n_matches or 1_000, schedule_networks)
    nodes = tuple(f"node-{number}" for number in range(1, N_NODES + 1))
    return Storm(nodes, True, every_s or 2.0, n_matches or 2_000, schedule_levels)


if __name__ == "__main__":
    sys.exit(main())
