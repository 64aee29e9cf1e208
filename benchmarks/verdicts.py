"""Whether verdicts hold: fields of known truth through the real pairing, rating and stopping code.

python -m benchmarks.verdicts [--part fields|campaigns|sprt|durations|calibration|large|real]
[--n N] [--json FILE]
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import Pool
from time import perf_counter
from typing import NamedTuple

from arena.ratings.counts import Floats
from arena.verdicts.sprt import EloModel, SequentialTest
from benchmarks import large_fields
from benchmarks.campaigns import accuracy, durations, reliability, sequential, stopping
from benchmarks.campaigns import real as real_fields
from benchmarks.campaigns.pool import each, pool
from benchmarks.options import parser, whole, writable, write_json
from benchmarks.table import Cell, table

PARTS = ("fields", "campaigns", "sprt", "durations", "calibration", "large", "real")
N_CAMPAIGNS = 2_100
N_TESTS = 2_000
PER_REPLICATE = 400
"""Real fields are played once for so many simulated campaigns."""
Row = dict[str, object]
_MARGIN = 1.0
"""Some 45 points of Elo."""
_FAR_APART = 100_000
"""Seeds of different campaigns."""
_EVEN_SHARE = 12
"""Of so many campaigns, one is held as a round robin too: its median needs fewer."""


class Followed(NamedTuple):
    """A field whose order is followed: replicates a 2,000 campaigns, and up to which matches."""

    field: str
    n_agents: int
    replicates: int
    budget: int
    random_budget: int


class Held(NamedTuple):
    """Campaigns: their share of all, the budget of each; whether their question's row has them."""

    question: str
    field: str
    n_agents: int
    share: float
    budget: int
    is_main: bool = False


class Tested(NamedTuple):
    """Sequential tests: how far apart the agents are and how biased the openings, in beta."""

    elo: float
    elo1: float
    bias: float
    share: float
    model: EloModel = EloModel.LOGISTIC


FOLLOWED = (
    Followed("gauss", 10, 200, 3_000, 8_000),
    Followed("close", 10, 200, 3_000, 8_000),
    Followed("seed", 10, 200, 600, 2_000),
    Followed("gauss", 50, 60, 3_000, 40_000),
    Followed("close", 50, 40, 14_000, 20_000),
    Followed("seed", 50, 80, 2_000, 15_000),
)
HELD = (
    Held("best", "gauss", 10, 1 / 3, 4_000, is_main=True),
    Held("best", "close", 10, 1 / 3, 4_000, is_main=True),
    Held("best", "seed", 10, 1 / 3, 4_000, is_main=True),
    Held("top_k", "gauss", 10, 1 / 2, 4_000, is_main=True),
    Held("top_k", "close", 10, 1 / 2, 4_000, is_main=True),
    Held("rank_all", "gauss", 10, 1.0, 8_000, is_main=True),
    Held("beats", "close", 2, 1.0, 4_000, is_main=True),
    Held("best", "equal", 10, 1 / 10, 4_000),
    Held("best", "gauss", 50, 1 / 40, 8_000),
    Held("best", "close", 50, 1 / 40, 8_000),
    Held("best", "seed", 50, 1 / 40, 8_000),
    Held("best", "close", 2, 1 / 4, 4_000),
)
TESTED = (
    Tested(0, 20, 0.0, 1.0),
    Tested(20, 20, 0.0, 1.0),
    Tested(0, 20, 2.0, 1.0),
    Tested(20, 20, 2.0, 1.0),
    Tested(0, 20, 0.0, 0.1, EloModel.NORMALISED),
    Tested(0, 20, 2.0, 0.1, EloModel.NORMALISED),
)


FACTORS, SLOTS = (1.0, 2.0, 4.0, 10.0), (1, 8, 64)
TIMED = {durations.SPRT: 1 / 5, "beats": 1 / 20, "best": 1 / 20}
"""Share of the campaigns of each question in which lost games last longer."""


@dataclass
class Figures:
    """What is measured, and the claims of all simulated fields."""

    rows: dict[str, list[Row]] = field(default_factory=dict)
    claims: dict[str, Floats] = field(default_factory=dict)

    def claimed(self, name: str, claims: Floats) -> None:
        """Add the claims of a field."""
        self.claims[name] = reliability.total(
            [self.claims.get(name, reliability.total([])), claims]
        )


def fields(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Measure the matches to each level of pairwise accuracy."""
    found = figures.rows["fields"] = []
    for name, n_agents, replicates, budget, random_budget in FOLLOWED:
        n = max(2, replicates * options.n // 2_000)
        tasks = [accuracy.Task(name, n_agents, budget, random_budget, seed) for seed in range(n)]
        followed = each(workers, accuracy.follow, tasks, f"{name}, {n_agents} agents")
        figures.claimed(f"{name} {n_agents}", reliability.total(one.claims for one in followed))
        rows = accuracy.rows(name, n_agents, followed)
        _print("Matches to a share of pairs in the right order", rows)
        found += rows


Ends = list[tuple[stopping.Task, stopping.Held]]


def campaigns(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Measure the share of wrong verdicts, and the matches to them."""
    found: list[Row] = []
    main: dict[str, tuple[Ends, Ends]] = {}
    for place, held in enumerate(HELD):
        n = max(2, round(options.n * held.share))
        ours = _held(workers, held, n, place, even=False)
        even = _held(workers, held, max(2, n // _EVEN_SHARE), place, even=True)
        claims = reliability.total(one.claims for _, one in ours)
        figures.claimed(f"{held.field} {held.n_agents}", claims)
        rows = stopping.rows(ours, even)
        _print("Campaigns", rows)
        found += rows
        if held.is_main:
            both = main.setdefault(held.question, (Ends(), Ends()))
            both[0].extend(ours)
            both[1].extend(even)
    several = [both for both in main.values() if len({task.field for task, _ in both[0]}) > 1]
    rows = [row for both in several for row in stopping.rows(*both)]
    _print("Campaigns, the fields of each question together", rows)
    figures.rows["campaigns"] = [*rows, *found]


def _held(workers: Pool, held: Held, n: int, place: int, *, even: bool) -> Ends:
    tasks = [
        stopping.Task(
            held.question, held.field, held.n_agents, _MARGIN, held.budget, even,
            place * _FAR_APART + number,
        )
        for number in range(n)
    ]  # fmt: skip
    title = f"{held.question}, {held.field}, {held.n_agents} agents{', round robin' * even}"
    return list(zip(tasks, each(workers, stopping.hold, tasks, title), strict=True))


def sprt(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Measure the error rates of the sequential test, and its games."""
    n = min(options.n, N_TESTS)
    tasks = [
        sequential.Task(
            SequentialTest(0, one.elo1, model=one.model),
            sequential.Openings(one.elo, one.bias),
            max(2, round(n * one.share)),
            place,
        )
        for place, one in enumerate(TESTED)
    ]
    figures.rows["sprt"] = each(workers, sequential.row, tasks, "sequential tests")
    _print("Sequential tests of 0 against elo1", figures.rows["sprt"])


def slow_losses(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Measure wrong verdicts where the games that one agent loses last longer."""
    tasks = [
        durations.Task(question, factor, n_slots, order, max(2, round(options.n * share)), 1)
        for question, share in TIMED.items()
        for factor in FACTORS
        for n_slots in SLOTS
        for order in (durations.FIFO, durations.LOCKSTEP)
    ]
    rows = figures.rows["durations"] = each(
        workers, durations.row, tasks, "losses that last longer"
    )
    _print("Wrong verdicts where the first agent's losses last longer", rows)


def calibration(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Say how far claimed and true probabilities are apart, by what the other parts have seen."""
    if not figures.claims:
        fields(workers, options, figures)
    tables = {"all fields": reliability.total(figures.claims.values()), **figures.claims}
    rows: list[Row] = [
        {"field": name, "claims": int(claims[0].sum()), "max_gap": reliability.max_gap(claims)}
        for name, claims in tables.items()
    ]
    _print("Claimed against true, points", rows)
    bins: list[Row] = [
        {"claims": n, "claimed": 100 * claimed, "true": 100 * true}
        for n, claimed, true in reliability.gaps(tables["all fields"])
    ]
    _print("All fields", bins)
    figures.rows["calibration"] = rows
    if options.figure:
        options.figure.write_text(reliability.figure(list(tables.items())))


def large(_: Pool, __: Namespace, figures: Figures) -> None:
    """Time 10,000 agents: settled, paired, the top told apart."""
    measured = large_fields.measure()
    print(f"\nLarge fields\n{large_fields.shown(measured)}", flush=True)
    figures.rows["large"] = [dict(measured)]


def real(_: Pool, options: Namespace, figures: Figures) -> None:
    """Play fields of known order through the real queue."""
    followed, held = real_fields.rows(max(1, options.n // PER_REPLICATE))
    _print("Real fields: matches to a share of pairs in the right order, medians", followed)
    _print("Real fields: campaigns", held)
    figures.rows["fields"] = [*figures.rows.get("fields", []), *followed]
    figures.rows["campaigns"] = [*figures.rows.get("campaigns", []), *held]


Part = Callable[[Pool, Namespace, Figures], None]
_PARTS: dict[str, Part] = {
    "fields": fields, "campaigns": campaigns, "sprt": sprt, "durations": slow_losses,
    "calibration": calibration, "large": large, "real": real,
}  # fmt: skip


def _print(title: str, rows: Sequence[Row]) -> None:
    """Print rows as a table."""
    if not rows:
        return
    columns = list(rows[0])
    cells: list[list[Cell]] = [[_cell(row[column]) for column in columns] for row in rows]
    print(f"\n{title}\n{table(columns, cells)}", flush=True)


def _cell(value: object) -> Cell:
    return value if isinstance(value, int | float | str | None) else str(value)


def _options(arguments: Sequence[str] | None) -> Namespace:
    made = parser("verdicts", "Whether verdicts hold, on simulated fields.")
    made.add_argument("--part", choices=PARTS, action="append", help="only this part; repeatable")
    help_n = f"campaigns; the other parts follow (default {N_CAMPAIGNS:,})"
    made.add_argument("--n", type=whole(20), default=N_CAMPAIGNS, metavar="N", help=help_n)
    cores = os.cpu_count() or 1
    made.add_argument(
        "--processes", type=whole(1), default=cores, metavar="P", help=f"default {cores}"
    )
    help_figure = "write the reliability diagram to FILE (SVG)"
    made.add_argument("--figure", type=writable, metavar="FILE", help=help_figure)
    return made.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the tables and write the figures; return the exit status."""
    options, begun, figures = _options(arguments), perf_counter(), Figures()
    with pool(options.processes) as workers:
        for name in PARTS:
            if name in (options.part or PARTS):
                _PARTS[name](workers, options, figures)
    gap = None
    if figures.claims:
        gap = reliability.max_gap(reliability.total(figures.claims.values()))
    seconds = perf_counter() - begun
    print(f"\n{seconds:,.0f} s")
    write_json(options.json, {**figures.rows, "calibration_max_gap": gap, "seconds": seconds})
    return 0


if __name__ == "__main__":
    sys.exit(main())
