"""Play a tournament undisturbed, then again while processes are killed, and compare.

./run chaos [--gpu] [--on DATABASE] [--matches N] [--every S] [--json FILE]
./run chaos --all [--on DATABASE] [--seed N] ...    (benchmarks.storm.run)

Play nodes are killed in turn and the broker twice; with --gpu agents are networks on the gpu queue,
and their only server is killed.
"""

import os
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, time_ns
from typing import Any

from benchmarks import networks, stacks
from benchmarks.report import (
    format_table,
    make_parser,
    number_of_seconds,
    whole_number,
    write_report,
)
from benchmarks.storm import run as storm
from benchmarks.storm.servers import run_postgres
from launcher.stack import Stack

N_NODES = 2
N_NETWORKS = 6
SIZE = networks.Size("chaos", 1024, 4)
# 2,000 matches last a minute undisturbed; other numbers in proportion.
MATCH_S = 60.0 * N_NODES / 2_000
LIMIT_S = 1_200.0
# How often a file or a pipe gets a line of progress: a run lasts for minutes.
LINE_EVERY_S = 10.0


@dataclass
class Killer:
    """Kills a victim every so often, in turn, and the broker; notes how long each is away."""

    stack: Stack
    victims: tuple[str, ...]
    every_s: float
    # After how many recorded matches the broker is killed.
    broker_at: tuple[int, ...]
    n_kills: int = 0
    n_broker_kills: int = 0
    recoveries_s: list[float] = field(default_factory=list)
    _next_at: float = field(default_factory=monotonic)
    _away: list[tuple[float, Callable[[], bool]]] = field(default_factory=list)

    def kill_what_is_due(self, n_done: int) -> None:
        """Kill, and note what has come back."""
        now = monotonic()
        recovered = [(at, is_back) for at, is_back in self._away if is_back()]
        self.recoveries_s += [now - at for at, _ in recovered]
        self._away = [away for away in self._away if away not in recovered]
        # By matches, not by time: so that both kills fall into the tournament on any machine.
        if any(n_done >= at for at in self.broker_at[self.n_broker_kills :][:1]):
            self.n_broker_kills += self._kill("broker", lambda: count_outcomes() > n_done)
        if now >= self._next_at:
            self._next_at = now + self.every_s
            name = self.victims[self.n_kills % len(self.victims)]
            # A node that has come back reports under a new incarnation.
            before = find_incarnation(name)
            self.n_kills += self._kill(name, lambda: find_incarnation(name) != before)

    def _kill(self, name: str, is_back: Callable[[], bool]) -> bool:
        pid = self.stack.pids().get(name)
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self._away.append((monotonic(), is_back))
        return True


def find_incarnation(node: str) -> str | None:
    """Return which run of a node has reported last."""
    from matches.models import Worker  # noqa: PLC0415 - Django is set up only now

    return Worker.objects.filter(node=node).values_list("incarnation", flat=True).first()


def count_outcomes() -> int:
    """Return how many matches were recorded on the stack."""
    from matches.models import Outcome  # noqa: PLC0415

    return Outcome.objects.count()


def schedule(options: Namespace) -> Any:
    """Schedule the matches, on a leaderboard of their own."""
    if not options.gpu:
        return stacks.schedule_levels("chaos", options.matches, seed=11, duration_s=MATCH_S)
    agents = networks.register_networks("chaos", N_NETWORKS, size=SIZE)
    board = stacks.open_board(f"chaos-{time_ns()}", "connect_four")
    terms = {"pairing": "random", "replays": True}
    return stacks.schedule_agents(board, agents, options.matches, seed=11, **terms)


def play(options: Namespace, on_look: Callable[[int], object]) -> tuple[Any, float]:
    """Return a tournament, closed and rated, and the seconds it took; show how far it is."""
    began = shown_at = monotonic()

    def look(tournament: Any) -> None:
        nonlocal shown_at
        on_look(tournament.n_done)
        now = monotonic()
        share = f"{tournament.n_closed}/{tournament.n_matches} matches, {now - began:.0f} s"
        if sys.stdout.isatty():
            print(f"\r{share}", end="", flush=True)
        elif now - shown_at >= LINE_EVERY_S:
            print(share, flush=True)
            shown_at = now

    tournament = stacks.await_tournament(
        schedule(options), limit_s=LIMIT_S, is_rated=True, on_look=look
    )
    return tournament, round(monotonic() - began, 2)


def read_ratings(tournament: Any) -> list[tuple[Any, ...]]:
    """Return every number of the ratings, agent by agent."""
    from matches.models import Rating  # noqa: PLC0415

    columns = ("agent_id", "mu", "sd", "live_mu", "live_sigma", "prefix_mu", "n_matches")
    rows = Rating.objects.filter(leaderboard=tournament.leaderboard).order_by("agent_id")
    return list(rows.values_list(*columns))


def count_results(tournament: Any) -> tuple[int, int, int]:
    """Return how many results the pair counts hold, and its outcomes and VOID matches by rows.

    The counters of the tournament do not serve here: it is over when they add up.
    """
    from matches.models import Match, Outcome, PairCount  # noqa: PLC0415

    pairs = PairCount.objects.filter(leaderboard=tournament.leaderboard)
    n_counted = sum(map(sum, pairs.values_list("n_first_wins", "n_draws", "n_second_wins")))
    n_outcomes = Outcome.objects.filter(match__tournament=tournament).count()
    n_void = Match.objects.filter(tournament=tournament, state=Match.State.VOID).count()
    return n_counted, n_outcomes, n_void


def measure(stack: Stack, options: Namespace) -> dict[str, Any]:
    """Play both tournaments; return what was lost, doubled, and whether the ratings are equal."""
    n = options.matches
    print(f"undisturbed: {n} matches", flush=True)
    calm, calm_s = play(options, on_look=lambda _: None)
    # The undisturbed matches are in the same database.
    n_before = count_outcomes()
    nodes = tuple(f"node-{number}" for number in range(1, N_NODES + 1))
    victims = ("gpu-1",) if options.gpu else nodes
    # With --gpu the one server of networks is what is tested.
    broker_at = () if options.gpu else (n_before + n // 3, n_before + 2 * n // 3)
    killer = Killer(stack, victims, options.every, broker_at)
    print(f"undisturbed in {calm_s:.0f} s; the same again, disturbed", flush=True)
    stormy, stormy_s = play(options, lambda n_done: killer.kill_what_is_due(n_before + n_done))
    n_counted, n_outcomes, n_void = count_results(stormy)
    return {
        "matches": n,
        "lost": n - n_outcomes - n_void,
        "doubled": n_counted - n_outcomes,
        "void": n_void,
        "ratings_equal": read_ratings(calm) == read_ratings(stormy),
        "kills": killer.n_kills,
        "broker_kills": killer.n_broker_kills,
        "recover_s_max": round(max(killer.recoveries_s, default=0.0), 2),
        "attempts_retried": stormy.n_retried,
        "reports_refused": stormy.n_refused,
        "undisturbed_s": calm_s,
        "disturbed_s": stormy_s,
    }


def main(arguments: Sequence[str]) -> int:
    """Measure and print; exit 1 when a match was lost or counted twice or a rating differs."""
    if "--all" in arguments:
        return storm.main(arguments)
    parser = make_parser("chaos", "Kill processes during a tournament; lose nothing.")
    add = parser.add_argument
    add("--gpu", action="store_true", help="kill the server of networks")
    add("--matches", type=whole_number(10), help="2000, or 1000 with --gpu")
    add("--every", type=number_of_seconds(0.1), metavar="S", help="2, 5 with --gpu")
    add("--on", choices=storm.DATABASES, default="sqlite", help="sqlite")
    options = parser.parse_args(arguments)
    options.matches = options.matches or (1_000 if options.gpu else 2_000)
    options.every = options.every or (5.0 if options.gpu else 2.0)
    with ExitStack() as around:
        settings = {}
        if options.on == "postgres":
            folder = around.enter_context(TemporaryDirectory(prefix="evalsite-chaos-"))
            settings = {"DATABASE_URL": around.enter_context(run_postgres(Path(folder)))}
        shape = stacks.private_stack(
            nodes=N_NODES, slots=1, gpus=int(options.gpu), web=options.gpu, settings=settings
        )
        figures = measure(around.enter_context(shape), options)
    text = format_table(["", "figure"], [[name, str(value)] for name, value in figures.items()])
    write_report(text, figures, options.json)
    is_whole = not figures["lost"] and not figures["doubled"] and figures["ratings_equal"]
    return 0 if is_whole else 1
