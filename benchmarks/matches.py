"""How fast matches are planned, played, recorded and rated, against the seed's way and a bare loop.

./run bench matches [--matches N] [--runs N] [--long] [--json FILE]
"""

import random
import sqlite3
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, time_ns
from typing import Any, NamedTuple

import trueskill
from dask.distributed import Client, LocalCluster

from arena.games import registry as games
from arena.games.base import ranks
from arena.games.catalog.skill_game import MAX_RAND_PROB, MAX_TIE_PROB, RATING_RANGE
from arena.pairing.base import Field, count_blocks, rotate_seats
from arena.pairing.registry import get as get_pairing
from arena.ratings.base import MU, SIGMA
from arena.ratings.trueskill import fold_results
from arena.seeding import derive
from benchmarks.report import Cell, format_table, make_parser, whole_number, write_report
from benchmarks.stacks import (
    LEVELS,
    await_tournament,
    cpu_seconds,
    open_board,
    private_stack,
    schedule_agents,
)
from launcher.stack import Stack

N_LEVELS = len(LEVELS)
N_PROCESSES = 2
N_LONG = 1_000_000
LIMIT_S = 1_800.0


class Run(NamedTuple):
    """One run of ours: seconds in all, and seconds a match in the middle of it."""

    seconds: float
    middle_cost_s: float


def run_ours(n_matches: int, *, seed: int) -> Run:
    """Plan, play, record and rate a tournament on the running stack."""
    moments: list[tuple[float, int]] = []
    began = perf_counter()

    def note(tournament: Any) -> None:
        # From the 10th to the 90th percent: neither the start nor the end has all stages at work.
        if 0.1 * n_matches <= tournament.n_done <= 0.9 * n_matches or not moments:
            moments.append((perf_counter(), tournament.n_done))

    board = open_board(f"bench-{time_ns()}", "skill_game")
    tournament = schedule_agents(board, LEVELS, n_matches, seed=seed, pairing="random")
    await_tournament(tournament, limit_s=LIMIT_S, is_rated=True, on_look=note)
    (first_at, first_n), (last_at, last_n) = moments[min(1, len(moments) - 1)], moments[-1]
    return Run(perf_counter() - began, (last_at - first_at) / max(1, last_n - first_n))


def play_as_seed(levels: Sequence[int]) -> tuple[int, int, int | None]:
    """Play one match of two agents drawn here, as in the seed; 0 first wins, None draw."""
    first, second = random.sample(range(len(levels)), 2)
    gap = levels[first] - levels[second]
    result = int(gap < 0)
    if random.random() < MAX_RAND_PROB - abs(gap) / RATING_RANGE:
        if random.random() < MAX_TIE_PROB - abs(gap) / RATING_RANGE:
            return first, second, None
        return first, second, 1 - result
    return first, second, result


@contextmanager
def connect_dask() -> Iterator[Client]:
    """Run the peer: a Dask cluster of single-threaded processes on this machine."""
    with (
        LocalCluster(
            n_workers=N_PROCESSES, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run_dask(client: Client, n_matches: int) -> float:
    """Return the seconds from the first submit to the last rating.

    The seed's way, but fairly: pure=False, one gather, the trueskill package.
    """
    levels = [random.randrange(RATING_RANGE) for _ in range(N_LEVELS)]
    began = perf_counter()
    # Sent once: the seed sent every agent with every task.
    scattered = client.scatter(levels, broadcast=True)
    waiting = [client.submit(play_as_seed, scattered, pure=False) for _ in range(n_matches)]
    ratings = [trueskill.Rating() for _ in range(N_LEVELS)]
    for first, second, result in client.gather(waiting):
        winner, loser = (first, second) if result != 1 else (second, first)
        ratings[winner], ratings[loser] = trueskill.rate_1vs1(
            ratings[winner], ratings[loser], drawn=result is None
        )
    return perf_counter() - began


def run_loop(n_matches: int, *, seed: int) -> float:
    """Return the seconds of a bare loop in one process: play, one bulk insert, fold."""
    game = games.get("skill_game")
    levels = [derive("level", seed, agent) % 100 for agent in range(N_LEVELS)]
    with TemporaryDirectory() as folder:
        began = perf_counter()
        field = Field(n_agents=N_LEVELS, n_seats=2)
        lineups = get_pairing("random").pair(field, count_blocks(n_matches, 2), seed=seed)
        results = []
        for number, lineup in enumerate(seats for pair in lineups for seats in rotate_seats(pair)):
            state = game.start(derive("game", seed, number), opening_plies=0)
            for agent in lineup:
                state.apply(levels[agent])
            # Kept in memory until the end, which no real evaluation could do.
            results.append((number, *lineup, *ranks(state.returns(), 2)))
        with sqlite3.connect(Path(folder) / "loop.sqlite3") as database:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("CREATE TABLE outcome (id INTEGER PRIMARY KEY, a, b, rank_a, rank_b)")
            database.executemany("INSERT INTO outcome VALUES (?, ?, ?, ?, ?)", results)
        pairs = ((a, b, (x < y) - (x > y)) for _, a, b, x, y in results)
        fold_results([MU] * N_LEVELS, [SIGMA] * N_LEVELS, pairs)
        return perf_counter() - began


def measure(stack: Stack, options: Namespace) -> dict[str, Any]:
    """Return all figures; ours, peer and loop take turns so that noise meets all of them."""
    n = options.matches
    run_ours(n // 10, seed=99)  # warms up: the first tasks of every process import
    ours, dask, loop = list[Run](), list[float](), list[float]()
    used: Counter[str] = Counter()
    with connect_dask() as client:
        for run in range(options.runs):
            # What the stack does while peer and loop run is not counted as ours.
            before = cpu_seconds(stack)
            ours.append(run_ours(n, seed=run))
            used.update({name: s - before.get(name, 0) for name, s in cpu_seconds(stack).items()})
            dask.append(run_dask(client, n))
            loop.append(run_loop(n, seed=run))
    ours_s, dask_s, loop_s = median(run.seconds for run in ours), median(dask), median(loop)
    seconds_taken = [("ours", n, ours_s), ("peer (Dask)", n, dask_s), ("bare loop", n, loop_s)]
    flatness = None
    if options.long:
        long = run_ours(N_LONG, seed=7)
        seconds_taken.append(("ours, long", N_LONG, long.seconds))
        flatness = long.middle_cost_s / median(run.middle_cost_s for run in ours)
    return {
        "rows": [
            {"name": name, "matches": size, "seconds": s, "matches_per_s": size / s}
            for name, size, s in seconds_taken
        ],
        "ratio_peer": dask_s / ours_s,
        "ratio_loop": loop_s / ours_s,
        "flatness": flatness,
        "cpu_us_per_match": {name: 1e6 * s / (n * options.runs) for name, s in used.items()},
    }


def format_figures(figures: dict[str, Any]) -> str:
    peer_per_s = next(row["matches_per_s"] for row in figures["rows"] if "peer" in row["name"])
    rows = [[*row.values(), row["matches_per_s"] / peer_per_s] for row in figures["rows"]]
    costs: list[list[Cell]] = [
        [name, spent] for name, spent in figures["cpu_us_per_match"].items() if spent >= 1
    ]
    flatness = figures["flatness"]
    flat = "not measured (--long)" if flatness is None else f"{flatness:.2f} (target <= 1.2)"
    return "\n".join(
        [
            format_table(["", "matches", "seconds", "matches/s", "x peer"], rows),
            "",
            f"ratio to the peer {figures['ratio_peer']:.1f} (target >= 10, aim 20); "
            f"to the bare loop {figures['ratio_loop']:.2f}; flatness {flat}",
            "",
            format_table(["where ours goes", "CPU us a match"], costs),
        ]
    )


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("matches", "How fast matches are planned, played, recorded, rated.")
    parser.add_argument("--matches", type=whole_number(100), default=10_000)
    parser.add_argument("--runs", type=whole_number(1), default=5)
    parser.add_argument("--long", action="store_true", help=f"also {N_LONG:,} matches")
    options = parser.parse_args(arguments)
    with private_stack(nodes=1, slots=N_PROCESSES) as stack:
        figures = measure(stack, options)
    write_report(format_figures(figures), figures, options.json)
    print(f"Medians of {options.runs}; {N_LEVELS} agents, {N_PROCESSES} play processes each.")
    return 0
