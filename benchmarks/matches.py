"""How fast matches are planned, played, recorded and rated, against the seed's way and a bare loop.

./run bench matches [--matches N] [--runs N] [--long] [--json FILE]
"""

import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from time import perf_counter, sleep
from typing import Any

from arena.games import registry as games
from arena.games.base import ranks
from arena.pairing.base import Field, count_blocks, rotate_seats
from arena.pairing.registry import get as pairing
from arena.ratings.base import MU, SIGMA
from arena.ratings.trueskill import fold_results
from arena.seeding import derive
from benchmarks.dask_peer import Peer
from benchmarks.options import parser, whole, write_json
from benchmarks.stacks import cpu_seconds, private_stack
from benchmarks.table import Cell, table
from launcher.stack import Stack

N_AGENTS = 10
N_PROCESSES = 2
N_LONG = 1_000_000
LIMIT_S = 1_800.0
POLL_S = 0.01


@dataclass
class Timed:
    """One run of ours: seconds in all and the moments at which so many matches were recorded."""

    seconds: float
    recorded: list[tuple[float, int]] = field(default_factory=list)

    def middle_cost_s(self, n_matches: int) -> float:
        """Return the seconds a match from the 10th to the 90th percent of the run."""
        low, high = 0.1 * n_matches, 0.9 * n_matches
        inside = [(at, n) for at, n in self.recorded if low <= n <= high]
        (first_at, first_n), (last_at, last_n) = inside[0], inside[-1]
        return (last_at - first_at) / max(1, last_n - first_n)


def run_ours(n_matches: int, *, seed: int) -> Timed:
    """TournamentPlan, play, record and rate a tournament on the running stack."""
    from matches.ledger.evaluation import Evaluation, start_evaluation  # noqa: PLC0415
    from matches.models import Leaderboard, Tournament  # noqa: PLC0415
    from matches.plans import TournamentPlan  # noqa: PLC0415
    from matches.store.clock import db_now  # noqa: PLC0415 - Django is set up only now

    plan = TournamentPlan(name="bench", n_matches=n_matches, pairing="random", seed=seed)
    began = perf_counter()
    evaluation = Evaluation(game="skill_game", plan=plan, num_agents=N_AGENTS)
    tournament = start_evaluation(evaluation, now=db_now())
    timed = Timed(0.0)
    boards = Leaderboard.objects.filter(pk=tournament.leaderboard_id)
    while perf_counter() - began < LIMIT_S:
        n_done = Tournament.objects.values_list("n_done", flat=True).get(pk=tournament.pk)
        timed.recorded.append((perf_counter() - began, n_done))
        if n_done == n_matches and boards.get().n_settled == n_matches:
            timed.seconds = perf_counter() - began
            return timed
        sleep(POLL_S)
    raise TimeoutError(f"{n_matches} matches took more than {LIMIT_S:g} s")


def run_loop(n_matches: int, *, seed: int) -> float:
    """Return the seconds of a bare loop in one process: play, one bulk insert, fold."""
    game = games.get("skill_game")
    levels = [derive("level", seed, agent) % 100 for agent in range(N_AGENTS)]
    with tempfile.TemporaryDirectory() as folder:
        began = perf_counter()
        field_ = Field(n_agents=N_AGENTS, n_seats=2)
        lineups = pairing("random").pair(field_, count_blocks(n_matches, 2), seed=seed)
        results = []
        for number, lineup in enumerate(seats for pair in lineups for seats in rotate_seats(pair)):
            state = game.start(derive("game", seed, number), opening_plies=0)
            for agent in lineup:
                state.apply(levels[agent])
            results.append((number, *lineup, *ranks(state.returns(), 2)))
        _insert(Path(folder) / "loop.sqlite3", results)
        pairs = ((a, b, (x < y) - (x > y)) for _, a, b, x, y in results)
        fold_results([MU] * N_AGENTS, [SIGMA] * N_AGENTS, pairs)
        return perf_counter() - began


def _insert(path: Path, results: Sequence[tuple[int, ...]]) -> None:
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE outcome (id INTEGER PRIMARY KEY, a, b, rank_a, rank_b)")
        database.executemany("INSERT INTO outcome VALUES (?, ?, ?, ?, ?)", results)


def measure(stack: Stack, options: Any) -> dict[str, Any]:
    """Return all figures; ours, peer and loop take turns so that noise meets all of them."""
    n = options.matches
    run_ours(n // 10, seed=99)
    peer = Peer(N_PROCESSES)
    ours, dask, loop = list[Timed](), list[float](), list[float]()
    used: Counter[str] = Counter()
    try:
        for run in range(options.runs):
            before = cpu_seconds(stack)
            ours.append(run_ours(n, seed=run))
            used.update({name: s - before.get(name, 0) for name, s in cpu_seconds(stack).items()})
            dask.append(peer.run(n, N_AGENTS))
            loop.append(run_loop(n, seed=run))
    finally:
        peer.close()
    seconds = {
        "ours": median(run.seconds for run in ours),
        "peer (Dask)": median(dask),
        "bare loop": median(loop),
    }
    rows = [_row(name, n, taken) for name, taken in seconds.items()]
    flatness = None
    if options.long:
        long = run_ours(N_LONG, seed=7)
        rows.append(_row("ours, long", N_LONG, long.seconds))
        short_cost = median(run.middle_cost_s(n) for run in ours)
        flatness = long.middle_cost_s(N_LONG) / short_cost
    return {
        "rows": rows,
        "ratio_peer": seconds["peer (Dask)"] / seconds["ours"],
        "ratio_loop": seconds["bare loop"] / seconds["ours"],
        "flatness": flatness,
        "cpu_us_per_match": {
            name: 1e6 * spent / (n * options.runs) for name, spent in used.items()
        },
    }


def _row(name: str, n_matches: int, seconds: float) -> dict[str, Any]:
    return {
        "name": name,
        "matches": n_matches,
        "seconds": seconds,
        "matches_per_s": n_matches / seconds,
    }


def shown(figures: dict[str, Any]) -> str:
    """Return the figures as tables with their targets."""
    peer = next(row["seconds"] / row["matches"] for row in figures["rows"] if "peer" in row["name"])
    rows: list[list[Cell]] = [
        [
            row["name"],
            row["matches"],
            row["seconds"],
            row["matches_per_s"],
            peer * row["matches"] / row["seconds"],
        ]
        for row in figures["rows"]
    ]
    costs: list[list[Cell]] = [
        [name, spent] for name, spent in figures["cpu_us_per_match"].items() if spent >= 1
    ]
    flatness = figures["flatness"]
    flat = "not measured (--long)" if flatness is None else f"{flatness:.2f} (target <= 1.2)"
    return "\n".join(
        [
            table(["", "matches", "seconds", "matches/s", "x peer"], rows),
            "",
            f"ratio to the peer {figures['ratio_peer']:.1f} (target >= 10, aim 20); "
            f"to the bare loop {figures['ratio_loop']:.2f}; flatness {flat}",
            "",
            table(["where ours goes", "CPU us a match"], costs),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the figures; return the exit status."""
    options_parser = parser("matches", "How fast matches are planned, played, recorded, rated.")
    options_parser.add_argument("--matches", type=whole(100), default=10_000)
    options_parser.add_argument("--runs", type=whole(1), default=5)
    options_parser.add_argument("--long", action="store_true", help=f"also {N_LONG:,} matches")
    options = options_parser.parse_args(arguments)
    with private_stack(nodes=1, slots=N_PROCESSES) as stack:
        figures = measure(stack, options)
    print(shown(figures))
    print(f"Medians of {options.runs}; {N_AGENTS} agents, {N_PROCESSES} play processes each.")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
