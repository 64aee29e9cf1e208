"""Campaigns in a hard world under a rule: how often they are wrong, and what they cost."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from time import process_time
from typing import NamedTuple
from zlib import crc32

import numpy as np

from arena.verdicts.base import StopReason, Terms, Verdict
from benchmarks.campaigns.bounds import MOST_AGENTS, bound_matches
from benchmarks.campaigns.hard.base import HardWorld
from benchmarks.campaigns.hard.blocks import PlayedBlocks
from benchmarks.campaigns.hard.catalog import HARD_WORLDS
from benchmarks.campaigns.hard.ledger import BlockLedger
from benchmarks.campaigns.hard.probit import Probit
from benchmarks.campaigns.hard.rules import RULES, Rule, is_bold, is_refused
from benchmarks.campaigns.mistakes import (
    Moment,
    find_lower_bound,
    find_upper_bound,
    is_wrong_at,
)
from benchmarks.campaigns.plans import CHOSEN, PLANS, Task, make_planner
from benchmarks.campaigns.worlds import COUPLE, IN_FLIGHT, Planner

# Judged anew when the results have grown by so much (matches.campaigns.judging).
LOOK_GROWTH = 0.05
OF_SKILLS_ALONE = ("gauss", "close", "heavy_tails", "clusters")
# Wrong campaigns whose seeds are named, so that they can be held again.
N_NAMED = 5


class Held(NamedTuple):
    """How a campaign ended; verdict: None where the budget was spent without one."""

    task: Task
    verdict: Verdict | None
    n_matches: int
    is_wrong: bool
    seconds: float

    @property
    def is_refused(self) -> bool:
        return self.verdict is not None and is_refused(self.verdict)

    @property
    def is_decided(self) -> bool:
        return self.verdict is not None and is_bold(self.verdict)

    @property
    def is_by_margin(self) -> bool:
        return self.verdict is not None and self.verdict.why is StopReason.WITHIN_MARGIN


def make_world(name: str, n_agents: int, seed: int) -> HardWorld:
    """Return the world of a seed: the same one for every question and rule."""
    return HARD_WORLDS[name](n_agents, np.random.default_rng([seed, crc32(name.encode())]))


def hold_named(arguments: tuple[Task, str]) -> Held:
    """Hold a campaign under the rule of a name: names go from process to process."""
    task, rule = arguments
    return hold_campaign(task, RULES[rule])


def hold_campaign(task: Task, rule: Rule) -> Held:
    """Hold one campaign in the hard world that is its field."""
    return hold_in_world(make_world(task.field, task.n_agents, task.seed), task, rule)


def hold_in_world(world: HardWorld, task: Task, rule: Rule) -> Held:
    """Hold one campaign in a world, to its first verdict or its budget."""
    terms, began = Terms(task.error, task.margin), process_time()
    verdict = None
    for blocks in watch_blocks(world, make_planner(task), budget=task.budget, seed=task.seed):
        verdict = rule(blocks, task.n_agents, task.question, terms)
        if verdict is not None:
            break
    has_erred = verdict is not None and is_wrong_at(task, Moment(world, blocks.n_matches), verdict)
    return Held(task, verdict, blocks.n_matches, has_erred, process_time() - began)


def watch_blocks(
    world: HardWorld, planner: Planner, *, budget: int, seed: int
) -> Iterator[PlayedBlocks]:
    """Yield the blocks that may be judged by, each time that they have grown enough."""
    ledger = BlockLedger(world, np.random.default_rng(seed))
    while ledger.n_known < budget:
        n_blocks = max(ledger.n_agents // 4, int(ledger.n_known * LOOK_GROWTH / COUPLE), 1)
        n_closed = min(ledger.n_closed + n_blocks, -(-budget // COUPLE))
        # As many new ones as keep the share in flight, and enough to go on.
        n_ahead = round(ledger.n_known / (1 - IN_FLIGHT)) - ledger.n_planned
        n_new = max(n_ahead // COUPLE, n_closed - ledger.n_planned // COUPLE, 0)
        ledger.plan(planner(ledger, n_new))
        ledger.close(n_closed)
        yield ledger.list_closed()


def make_row(rule: str, by_plan: Mapping[str, Sequence[Held]]) -> dict[str, object]:
    """Return the row of a world and question.

    by_plan: campaigns as they are, and some by the other plans, of which the median matches are
    shown. bound: of the mean.
    """
    ours = by_plan[CHOSEN]
    task, n = ours[0].task, len(ours)
    wrong = [campaign.task.seed for campaign in ours if campaign.is_wrong]
    return {
        "world": task.field,
        "question": task.question,
        "rule": rule,
        "agents": task.n_agents,
        "stated_error": task.error,
        "margin": task.margin,
        "budget": task.budget,
        "n": n,
        "wrong": len(wrong),
        "share": len(wrong) / n,
        "lower": find_lower_bound(len(wrong), n),
        "upper": find_upper_bound(len(wrong), n),
        "decided": sum(campaign.is_decided for campaign in ours),
        "by_margin": sum(campaign.is_by_margin for campaign in ours),
        "refused": sum(campaign.is_refused for campaign in ours),
        "median_matches": median(campaign.n_matches for campaign in ours),
        "mean_matches": sum(campaign.n_matches for campaign in ours) / n,
        **{
            plan: median(campaign.n_matches for campaign in by_plan[plan])
            if by_plan.get(plan)
            else None
            for plan in PLANS
            if plan != CHOSEN
        },
        "bound": sum(bounds) / n if (bounds := list(find_bounds([h.task for h in ours]))) else None,
        "seconds": sum(campaign.seconds for campaign in ours) / n,
        "wrong_seeds": " ".join(map(str, wrong[:N_NAMED])),
    }


def find_bounds(tasks: Sequence[Task]) -> Iterator[float]:
    """Yield the fewest matches of each campaign, where skills are all that there is."""
    is_known = tasks[0].field in OF_SKILLS_ALONE and tasks[0].n_agents <= MOST_AGENTS
    for task in tasks if is_known else ():
        world = make_world(task.field, task.n_agents, task.seed)
        if isinstance(world, Probit):
            yield bound_matches(world.truth, task.question, task.margin, task.error)
