"""Whole campaigns: how often their verdicts are wrong, and the matches until then."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from arena.pairing import registry as pairings
from arena.pairing.registry import choose_pairing
from arena.parameters import read_parameters
from arena.ratings.counts import Floats
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason, Terms, Verdict
from arena.verdicts.beliefs import form_belief
from benchmarks.campaigns.accuracy import count_claims
from benchmarks.campaigns.bounds import track_shares
from benchmarks.campaigns.worlds import (
    WORLDS,
    Planner,
    Truth,
    plan_adaptively,
    plan_beforehand,
    watch_field,
)

# All are watched in the same campaign: what it plays does not depend on them.
ERRORS = (0.05, 0.01)


class Task(NamedTuple):
    """A campaign about one field; plan: who meets, a name of PLANS."""

    question: str
    field: str
    n_agents: int
    margin: float
    budget: int
    plan: str
    seed: int


class Ended(NamedTuple):
    """The end of a campaign for one error."""

    n_matches: int
    why: StopReason
    is_wrong: bool


class Held(NamedTuple):
    """How a campaign ended for each error, and what was claimed at its end."""

    task: Task
    ended: dict[float, Ended]
    claims: Floats


def hold_campaign(task: Task) -> Held:
    """Hold one campaign to the end of the strictest error."""
    world = WORLDS[task.field](task.n_agents, np.random.default_rng([task.seed, 7]))
    question = questions.get(task.question)
    ended: dict[float, Ended] = {}
    for moment in watch_field(world, make_planner(task), budget=task.budget, seed=task.seed):
        last = moment
        belief = form_belief(moment.settled, moment.counts)
        for error in ERRORS:
            verdict = None if error in ended else question.judge(belief, Terms(error, task.margin))
            if verdict is not None:
                # Who has stopped by the margin has said no more than that.
                allowed = 0.0 if verdict.why is StopReason.DECIDED else task.margin
                has_erred = is_wrong(task.question, world, verdict, allowed)
                ended[error] = Ended(moment.counts.n_results, verdict.why, has_erred)
        # The strictest error ends last: nothing is left to watch.
        if len(ended) == len(ERRORS):
            break
    # A campaign out of budget says nothing, so that it is not wrong either.
    for error in ERRORS:
        ended.setdefault(error, Ended(last.counts.n_results, StopReason.OUT_OF_BUDGET, False))
    return Held(task, ended, count_claims(last.settled, world.truth))


def make_planner(task: Task) -> Planner:
    """Return what plans a campaign."""
    return PLANS[task.plan](task)


def plan_as_control(task: Task) -> Planner:
    """Return what control would choose for it."""
    question = questions.get(task.question)
    question_parameters = read_parameters(task.question, question.parameters, {})
    name, parameters = choose_pairing(task.question, question_parameters, n_agents=task.n_agents)
    pairing = pairings.get_adaptive(name).configured(parameters)
    # A prime far off: seeds of neighbouring campaigns must not run into each other.
    return plan_adaptively(pairing, task.seed * 1_000_003)


CHOSEN, EVEN, TRACKED = "chosen", "round_robin", "track_and_stop"
PLANS: dict[str, Callable[[Task], Planner]] = {
    CHOSEN: plan_as_control,
    EVEN: lambda task: plan_beforehand("double_round_robin", task.n_agents, task.budget, task.seed),
    TRACKED: lambda task: track_shares(task.question, task.margin),
}


def is_wrong(question: str, world: Truth, verdict: Verdict, allowed: float) -> bool:
    """Say whether a verdict is wrong by more than allowed.

    Wrong is who names the best, the top or an order while an agent not named, or named later, is
    better; equal agents do not beat each other.
    """
    named = list(verdict.subjects)
    if question == "beats":
        a, b = named
        gap = world.find_lead(a, b) - world.find_lead(b, a)
        if verdict.why is StopReason.WITHIN_MARGIN:
            return abs(gap) > allowed
        return gap >= 0 if "not" in verdict.statement else gap <= 0
    others = np.delete(np.arange(len(world.truth)), named).tolist()
    # An order says something of all its agents, the others only of those outside.
    behind = {agent: named[place + 1 :] for place, agent in enumerate(named)}
    pairs = behind if question == "rank_all" else dict.fromkeys(named, others)
    return any(world.find_lead(low, agent) > allowed for agent in named for low in pairs[agent])


def make_rows(ours: Sequence[Held], even: Sequence[Held]) -> list[dict[str, object]]:
    """Return the rows of the benchmark, one an error."""
    task, rows = ours[0].task, list[dict[str, object]]()
    for error in ERRORS:
        ended = [campaign.ended[error] for campaign in ours]
        # Fewer than ours: a median needs fewer campaigns than an error rate.
        even_matches = [campaign.ended[error].n_matches for campaign in even]
        n_wrong = sum(ending.is_wrong for ending in ended)
        n_decided = sum(ending.why is not StopReason.OUT_OF_BUDGET for ending in ended)
        rows.append(
            {
                "question": task.question,
                "field": "+".join(sorted({campaign.task.field for campaign in ours})),
                "agents": task.n_agents,
                "margin": task.margin,
                "budget": task.budget,
                "stated_error": error,
                "wrong": n_wrong,
                "n": len(ended),
                "lower_bound": find_lower_bound(n_wrong, n_decided),
                "wrong_share": n_wrong / max(1, n_decided),
                "decided": n_decided,
                "decided_share": n_decided / len(ended),
                "by_margin": sum(ending.why is StopReason.WITHIN_MARGIN for ending in ended),
                "median_matches": median(ending.n_matches for ending in ended),
                "round_robin_matches": median(even_matches) if even_matches else None,
                "round_robin_n": len(even_matches),
            }
        )
    return rows


def find_lower_bound(n_wrong: int, n: int) -> float:
    """Return the lower Clopper-Pearson bound of a share, at 95 %, one side."""
    if n == 0:
        return 0.0
    return float(binomtest(n_wrong, n, alternative="greater").proportion_ci(0.95).low)
