"""Whether verdicts hold: fields of known truth through the real pairing, rating and stopping code.

./run bench verdicts [--part fields|campaigns|sprt|durations|calibration|large|real]
[--n N] [--json FILE]

./run bench verdicts --part worlds [--worlds NAME] [--questions ID] [--rule NAME] [--fit NAME]
[--n N] [--first-seed SEED] holds N campaigns a question in each world that is not the rating
model's. --part recorded [--reference N] holds them in real fields, by matches played before. Both
are long, so that they are no part of the others.
"""

import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from multiprocessing import get_context
from multiprocessing.pool import Pool
from time import perf_counter
from typing import Any, NamedTuple, TypeVar

from arena.ratings.counts import Floats
from arena.verdicts.sprt import EloModel, SequentialTest
from benchmarks import large_fields
from benchmarks.campaigns import accuracy, durations, real, recorded, sequential
from benchmarks.campaigns.bounds import MOST_AGENTS
from benchmarks.campaigns.hard import campaign, coverage
from benchmarks.campaigns.hard.catalog import HARD_WORLDS
from benchmarks.campaigns.hard.fits import FITS
from benchmarks.campaigns.hard.rules import RULES
from benchmarks.campaigns.plans import CHOSEN, PLANS, TRACKED, Task
from benchmarks.report import format_table, make_parser, whole_number, writable_path, write_report
from launcher.programs import ONE_THREAD

N_CAMPAIGNS = 2_100
N_TESTS = 2_000
# Real fields are played once for so many simulated campaigns.
PER_REPLICATE = 400
# Some 45 points of Elo.
MARGIN = 1.0
# Seeds of different campaigns.
FAR_APART = 100_000
# Of so many campaigns, one is held by each other plan too: their medians need fewer.
EVEN_SHARE = 12
Row = dict[str, object]
Item = TypeVar("Item")
Result = TypeVar("Result")


class HeldCampaigns(NamedTuple):
    """Campaigns in a hard world: their share of all, and the budget of each."""

    question: str
    world: str
    n_agents: int
    share: float
    budget: int


# Fields whose order is followed: name, agents, replicates a 2,000 campaigns, and up to which
# matches, ours and random ones.
FOLLOWED = (
    ("gauss", 10, 200, 3_000, 8_000),
    ("close", 10, 200, 3_000, 8_000),
    ("seed", 10, 200, 600, 2_000),
    ("gauss", 50, 60, 3_000, 40_000),
    ("close", 50, 40, 14_000, 20_000),
    ("seed", 50, 80, 2_000, 15_000),
)
HELD = (
    *(HeldCampaigns("best", name, 10, 1 / 3, 4_000) for name in ("gauss", "close", "skill_game")),
    *(HeldCampaigns("top_k", name, 10, 1 / 2, 4_000) for name in ("gauss", "close")),
    HeldCampaigns("rank_all", "gauss", 10, 1.0, 8_000),
    HeldCampaigns("beats", "close", 2, 1.0, 4_000),
    HeldCampaigns("best", "equal", 10, 1 / 10, 4_000),
    *(HeldCampaigns("best", name, 50, 1 / 40, 8_000) for name in ("gauss", "close", "skill_game")),
    HeldCampaigns("best", "close", 2, 1 / 4, 4_000),
)
ERRORS = (0.05, 0.01)
# Of the sequential tests: how far apart the agents are, elo1, how biased the openings are in beta,
# and their share of all.
TESTED = (
    (0, 20, 0.0, 1.0, EloModel.LOGISTIC),
    (20, 20, 0.0, 1.0, EloModel.LOGISTIC),
    (0, 20, 2.0, 1.0, EloModel.LOGISTIC),
    (20, 20, 2.0, 1.0, EloModel.LOGISTIC),
    (0, 20, 0.0, 0.1, EloModel.NORMALISED),
    (0, 20, 2.0, 0.1, EloModel.NORMALISED),
)
FACTORS, SLOTS = (1.0, 2.0, 4.0, 10.0), (1, 8, 64)
# Share of the campaigns of each question in which lost games last longer.
TIMED = {durations.SPRT: 1 / 5, "beats": 1 / 20, "best": 1 / 20}


class HardField(NamedTuple):
    """How many agents a hard world has, and the budget of each question that is asked there."""

    n_agents: int
    budgets: dict[str, int]


TEN = HardField(10, {"best": 4_000, "top_k": 4_000, "rank_all": 8_000})
OTHER_FIELDS = {"many": HardField(100, {"best": 2_000, "top_k": 2_000})}
COVERAGE = "coverage"
ASKED = (*TEN.budgets, COVERAGE)


@dataclass
class Figures:
    """What is measured, and the claims of the fields that are followed."""

    workers: Pool
    options: Namespace
    rows: dict[str, list[Row]] = field(default_factory=dict)
    claims: dict[str, Floats] = field(default_factory=dict)

    def keep(self, part: str, title: str, rows: Sequence[Any]) -> None:
        """Print rows as a table, and write them to the part of the file at the end."""
        self.rows.setdefault(part, []).extend(rows)
        if rows:
            table = format_table(list(rows[0]), [[*row.values()] for row in rows])
            print(f"\n{title}\n{table}", flush=True)

    def work(self, title: str, do: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return what comes of each item, in order, done on all cores; show how far it is."""
        results = []
        for result in self.workers.imap(do, items):
            results.append(result)
            if sys.stderr.isatty():
                share = f"{title}: {len(results):,} of {len(items):,}"
                print(f"\r\033[K{share}", end="", file=sys.stderr, flush=True)
        return results


def measure_fields(figures: Figures) -> None:
    for name, n_agents, replicates, budget, random_budget in FOLLOWED:
        n = max(2, replicates * figures.options.n // 2_000)
        tasks = [accuracy.Task(name, n_agents, budget, random_budget, seed) for seed in range(n)]
        followed = figures.work(f"{name}, {n_agents} agents", accuracy.follow_field, tasks)
        claims = accuracy.add_claims(fitted.claims for fitted in followed)
        figures.claims[f"{name} {n_agents}"] = claims
        rows = accuracy.make_rows(name, n_agents, followed)
        figures.keep("fields", "Matches to a share of pairs in the right order", rows)


def measure_campaigns(figures: Figures) -> None:
    """Measure the share of wrong verdicts, and the matches to them, in fields of several sizes."""
    for (place, kind), error in product(enumerate(HELD), ERRORS):
        n, first = max(2, round(figures.options.n * kind.share)), place * FAR_APART
        terms = (kind.question, kind.world, kind.n_agents, MARGIN, kind.budget)
        task = Task(*terms, CHOSEN, first, error)
        hold_in_world(figures, "campaigns", task, range(first, first + n))


def measure_tests(figures: Figures) -> None:
    n = min(figures.options.n, N_TESTS)
    tasks = [
        sequential.Task(
            SequentialTest(0, elo1, model=model),
            sequential.Openings(elo, bias),
            max(2, round(n * share)),
            place,
        )
        for place, (elo, elo1, bias, share, model) in enumerate(TESTED)
    ]
    rows = figures.work("sequential tests", sequential.make_row, tasks)
    figures.keep("sprt", "Sequential tests of 0 against elo1", rows)


def measure_slow_losses(figures: Figures) -> None:
    """Measure wrong verdicts where the games that one agent loses last longer."""
    tasks = [
        durations.Task(question, factor, slots, order, max(2, round(figures.options.n * share)), 1)
        for question, share in TIMED.items()
        for factor in FACTORS
        for slots in SLOTS
        for order in (durations.FIFO, durations.LOCKSTEP)
    ]
    rows = figures.work("losses that last longer", durations.make_row, tasks)
    figures.keep("durations", "Wrong verdicts where the first agent's losses last longer", rows)


def measure_calibration(figures: Figures) -> None:
    """Say how far claimed and true probabilities are apart in the fields that are followed."""
    # Asked for alone, it needs something to look at.
    if not figures.claims:
        measure_fields(figures)
    tables = {"all fields": accuracy.add_claims(figures.claims.values()), **figures.claims}
    rows = [
        {"field": name, "claims": int(table[0].sum()), "max_gap": accuracy.find_largest_gap(table)}
        for name, table in tables.items()
    ]
    figures.keep("calibration", "Claimed against true, points", rows)
    if figures.options.figure:
        figures.options.figure.write_text(accuracy.draw_reliability(list(tables.items())))


def measure_large(figures: Figures) -> None:
    measured = large_fields.measure()
    print(f"\nLarge fields\n{large_fields.format_figures(measured)}", flush=True)
    figures.rows["large"] = [dict(measured)]


def measure_real(figures: Figures) -> None:
    followed, campaigns = real.play_fields(max(1, figures.options.n // PER_REPLICATE))
    title = "Real fields: matches to a share of pairs in the right order, medians"
    figures.keep("fields", title, followed)
    figures.keep("campaigns", "Real fields: campaigns", campaigns)


def measure_worlds(figures: Figures) -> None:
    """Measure verdicts and ratings in worlds that are not those of the rating model."""
    options = figures.options
    seeds = range(options.first_seed, options.first_seed + options.n)
    for name in options.worlds or list_worlds():
        for question in options.questions or ASKED:
            if question == COVERAGE and name in coverage.FIELDS:
                measure_coverage(figures, name, seeds)
            elif name in HARD_WORLDS and question in OTHER_FIELDS.get(name, TEN).budgets:
                field = OTHER_FIELDS.get(name, TEN)
                terms = (question, name, field.n_agents, MARGIN, field.budgets[question])
                hold_in_world(figures, "worlds", Task(*terms, CHOSEN, seeds[0]), seeds)


def measure_coverage(figures: Figures, name: str, seeds: Sequence[int]) -> None:
    tasks = [coverage.Task(name, figures.options.fit, seed) for seed in seeds]
    measured = figures.work(f"coverage, {name}", coverage.measure_named, tasks)
    row = coverage.make_row(name, figures.options.fit, measured)
    figures.keep("coverage", "True strengths within the 95 % that ratings show", [row])


def hold_in_world(figures: Figures, part: str, task: Task, seeds: Sequence[int]) -> None:
    """Hold a campaign for each seed; the first few by the other plans, too."""
    rule = figures.options.rule
    campaigns: dict[str, list[campaign.Held]] = {}
    few = seeds[: max(2, len(seeds) // EVEN_SHARE)]
    for plan in PLANS:
        if plan == TRACKED and task.n_agents > MOST_AGENTS:
            continue
        chosen = seeds if plan == CHOSEN else few
        tasks = [(task._replace(plan=plan, seed=seed), rule) for seed in chosen]
        title = f"{task.question}, {task.field}, {plan}"
        campaigns[plan] = figures.work(title, campaign.hold_named, tasks)
    row = campaign.make_row(rule, campaigns)
    figures.keep(part, "Campaigns: how often they are wrong, and how long they take", [row])


def measure_recorded(figures: Figures) -> None:
    """Measure verdicts in real fields, against a long round robin of each."""
    options = figures.options
    chosen = [game for game in options.worlds or recorded.FIELDS if game in recorded.FIELDS]
    references = [(game, options.reference) for game in chosen]
    questions = [
        question for question in recorded.QUESTIONS if question in (options.questions or ASKED)
    ]
    worlds = figures.work("references", recorded.play_reference, references)
    for (game, _), world in zip(references, worlds, strict=True):
        # Of several seats no other rule can judge.
        rule = options.rule if isinstance(world, recorded.Recorded) else "campaigns"
        rows = []
        for question in questions:
            budget = recorded.QUESTIONS[question]
            terms = (question, game, world.n_agents, MARGIN, budget, CHOSEN)
            seeds = range(options.first_seed, options.first_seed + options.n)
            tasks = [(Task(*terms, seed), world, rule) for seed in seeds]
            campaigns = figures.work(f"{question}, {game}", recorded.hold_recorded, tasks)
            rows.append(campaign.make_row(rule, {CHOSEN: campaigns}))
        figures.keep("recorded", f"Campaigns of {', '.join(recorded.FIELDS[game])}", rows)


def list_worlds() -> list[str]:
    """Return the names of all hard worlds, then of those where only coverage is measured."""
    return list(HARD_WORLDS | dict.fromkeys(coverage.FIELDS))


PARTS: dict[str, Callable[[Figures], None]] = {
    "fields": measure_fields,
    "campaigns": measure_campaigns,
    "sprt": measure_tests,
    "durations": measure_slow_losses,
    "calibration": measure_calibration,
    "large": measure_large,
    "real": measure_real,
}
# Only where they are asked for.
LONG_PARTS: dict[str, Callable[[Figures], None]] = {
    "worlds": measure_worlds,
    "recorded": measure_recorded,
}


@contextmanager
def open_pool(n_processes: int) -> Iterator[Pool]:
    """Yield processes of one BLAS thread each; they end with the block, also after Ctrl-C."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        # Spawned, as the number of BLAS threads is read when NumPy is first imported.
        with get_context("spawn").Pool(n_processes, ignore_interrupts) as workers:
            yield workers
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the benchmark, which ends its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def add_world_options(parser: ArgumentParser) -> None:
    add = parser.add_argument_group("the parts worlds and recorded").add_argument
    names = [*list_worlds(), *recorded.FIELDS]
    add("--worlds", choices=names, action="append", help="only this world or game; repeatable")
    add("--questions", choices=ASKED, action="append", help="only this one; repeatable")
    help_rule = "what gives the verdicts, also of the part campaigns (campaigns)"
    add("--rule", choices=RULES, default="campaigns", help=help_rule)
    add("--fit", choices=FITS, default="leaderboards", help="what covers the truth (leaderboards)")
    help_seed = "seed of the first campaign (default 0)"
    add("--first-seed", type=whole_number(0), default=0, metavar="SEED", help=help_seed)


def main(arguments: Sequence[str]) -> int:
    parser = make_parser("verdicts", "Whether verdicts hold, on simulated fields.")
    add, cores = parser.add_argument, os.cpu_count() or 1
    parts = PARTS | LONG_PARTS
    add("--part", choices=parts, action="append", help="only this part; repeatable")
    help_n = f"campaigns; the other parts follow (default {N_CAMPAIGNS:,})"
    add("--n", type=whole_number(20), default=N_CAMPAIGNS, metavar="N", help=help_n)
    help_p = f"default {cores}"
    add("--processes", type=whole_number(1), default=cores, metavar="P", help=help_p)
    help_figure = "write the reliability diagram to FILE (SVG)"
    add("--figure", type=writable_path, metavar="FILE", help=help_figure)
    help_reference = "matches of each field of the part recorded (default 10,000)"
    reference = whole_number(100)
    add("--reference", type=reference, default=10_000, metavar="N", help=help_reference)
    add_world_options(parser)
    options, began = parser.parse_args(arguments), perf_counter()
    for part, names in (("worlds", list_worlds()), ("recorded", list(recorded.FIELDS))):
        if part in (options.part or ()) and set(options.worlds or names).isdisjoint(names):
            parser.error(f"--worlds: none of part {part}; choose from {', '.join(names)}")
    with open_pool(options.processes) as workers:
        figures = Figures(workers, options)
        for name, measure_part in parts.items():
            if name in (options.part or PARTS):
                measure_part(figures)
    claims = accuracy.add_claims(figures.claims.values())
    seconds = perf_counter() - began
    summary = {"calibration_max_gap": accuracy.find_largest_gap(claims), "seconds": seconds}
    write_report(f"\n{seconds:,.0f} s", figures.rows | summary, options.json)
    return 0
