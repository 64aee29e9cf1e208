"""Whether verdicts hold: fields of known truth through the real pairing, rating and stopping code.

python -m benchmarks.verdicts [--part fields|campaigns|sprt|calibration] [--n N] [--json FILE]
"""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.pool import Pool
from time import perf_counter

from arena.ratings.counts import Floats
from arena.verdicts.sprt import Model, Test
from benchmarks.campaigns import accuracy, reliability, sequential, stopping
from benchmarks.campaigns.pool import each, pool
from benchmarks.options import parser, whole, writable, write_json
from benchmarks.table import Cell, table

PARTS = ("fields", "campaigns", "sprt", "calibration")
N_CAMPAIGNS = 2_100
N_TESTS = 2_000
Row = dict[str, object]
_MARGIN = 1.0
"""Some 45 points of Elo."""
_EVEN_SHARE = 8
"""Of so many campaigns, one is held as a round robin too: its median needs fewer."""

FOLLOWED = (
    # field, agents, replicates by 2,000 campaigns, matches followed, random ones
    ("gauss", 10, 200, 3_000, 8_000),
    ("close", 10, 200, 3_000, 8_000),
    ("seed", 10, 200, 600, 2_000),
    ("gauss", 50, 24, 3_000, 40_000),
    ("close", 50, 24, 14_000, 20_000),
    ("seed", 50, 40, 3_000, 15_000),
)
HELD = (
    # question, field, agents, share of the campaigns, budget
    ("best", "gauss", 10, 1 / 3, 4_000),
    ("best", "close", 10, 1 / 3, 4_000),
    ("best", "seed", 10, 1 / 3, 4_000),
    ("best", "equal", 10, 1 / 10, 4_000),
    ("best", "gauss", 50, 1 / 40, 8_000),
    ("best", "close", 50, 1 / 40, 8_000),
    ("best", "seed", 50, 1 / 40, 8_000),
    ("top_k", "gauss", 10, 1 / 10, 4_000),
    ("rank_all", "gauss", 10, 1 / 20, 8_000),
    ("beats", "close", 10, 1 / 20, 4_000),
)


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


def campaigns(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Measure the share of wrong verdicts, and the matches to them."""
    found = figures.rows["campaigns"] = []
    main: tuple[list[_Held], list[_Held]] = ([], [])
    for place, (question, name, n_agents, share, budget) in enumerate(HELD):
        n = max(2, round(options.n * share))
        both = []
        for even, n_held in ((False, n), (True, max(2, n // _EVEN_SHARE))):
            tasks = [
                stopping.Task(question, name, n_agents, _MARGIN, budget, even, 100_000 * place + i)
                for i in range(n_held)
            ]
            title = f"{question}, {name}, {n_agents} agents{', round robin' * even}"
            both.append(list(zip(tasks, each(workers, stopping.hold, tasks, title), strict=True)))
        ours, robin = both
        figures.claimed(f"{name} {n_agents}", reliability.total(held.claims for _, held in ours))
        rows = stopping.rows(ours, robin)
        _print("Campaigns", rows)
        found += rows
        if question == "best" and share == 1 / 3:
            main[0].extend(ours)
            main[1].extend(robin)
    found[:0] = stopping.rows(*main)
    _print("All fields of 10 agents", found[: len(stopping.ERRORS)])


_Held = tuple[stopping.Task, stopping.Held]


def sprt(workers: Pool, options: Namespace, figures: Figures) -> None:
    """Measure the error rates of the sequential test, and its games."""
    n = min(options.n, N_TESTS)
    tasks = [
        sequential.Task(Test(0, 20, model=model), sequential.Openings(elo, bias), n_tests, place)
        for place, (model, elo, bias, n_tests) in enumerate(
            [
                (Model.LOGISTIC, 0, 0.0, n),
                (Model.LOGISTIC, 20, 0.0, n),
                (Model.LOGISTIC, 0, 2.0, n),
                (Model.LOGISTIC, 20, 2.0, n),
                (Model.NORMALISED, 0, 0.0, max(2, n // 10)),
                (Model.NORMALISED, 0, 2.0, max(2, n // 10)),
            ]
        )
    ]
    figures.rows["sprt"] = each(workers, sequential.row, tasks, "sequential tests")
    _print("Sequential tests, bounds 0 and 20", figures.rows["sprt"])


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


Part = Callable[[Pool, Namespace, Figures], None]
_PARTS: dict[str, Part] = {
    "fields": fields, "campaigns": campaigns, "sprt": sprt, "calibration": calibration,
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
