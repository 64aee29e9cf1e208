"""Whole campaigns: how often their verdicts are wrong, and the matches until then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from arena.pairing import registry as pairings
from arena.pairing.registry import choose_pairing
from arena.parameters import read_parameters
from arena.ratings.counts import Floats
from arena.verdicts import registry as questions
from arena.verdicts.base import StopReason, Terms, Verdict
from arena.verdicts.beliefs import form_belief
from benchmarks.campaigns import reliability
from benchmarks.campaigns.play import Adaptive, Fixed, Moment, Planner, watch
from benchmarks.campaigns.worlds import WORLDS, World

ERRORS = (0.05, 0.01)
"""All are watched in the same campaign: what it plays does not depend on them."""
CONFIDENCE = 0.95

Row = dict[str, object]


@dataclass(frozen=True)
class Task:
    """A campaign about one field; even: by double round robin."""

    question: str
    field: str
    n_agents: int
    margin: float
    budget: int
    even: bool
    seed: int


class Ended(NamedTuple):
    """The end of a campaign for one error."""

    n_matches: int
    why: StopReason
    is_wrong: bool


class Held(NamedTuple):
    """How a campaign ended for each error, and what was claimed at its end."""

    ended: dict[float, Ended]
    claims: Floats


def hold(task: Task) -> Held:
    """Hold one campaign to the end of the strictest error."""
    world = WORLDS[task.field](task.n_agents, np.random.default_rng([task.seed, 7]))
    ended: dict[float, Ended] = {}
    for moment in watch(world, _planner(task), budget=task.budget, seed=task.seed):
        last = moment
        _look(task, world, moment, ended)
        if len(ended) == len(ERRORS):
            break
    for error in ERRORS:
        ended.setdefault(error, Ended(last.counts.n_results, StopReason.OUT_OF_BUDGET, False))
    return Held(ended, reliability.claims(last.settled, world.truth))


def _look(task: Task, world: World, moment: Moment, ended: dict[float, Ended]) -> None:
    belief = form_belief(moment.settled, moment.counts)
    question = questions.get(task.question)
    for error in ERRORS:
        if error in ended:
            continue
        verdict = question.judge(belief, Terms(error, task.margin))
        if verdict is not None:
            allowed = 0.0 if verdict.why is StopReason.DECIDED else task.margin
            is_wrong = WRONG[task.question](world, verdict, allowed)
            ended[error] = Ended(moment.counts.n_results, verdict.why, is_wrong)


def _planner(task: Task) -> Planner:
    if task.even:
        pairing = pairings.get("double_round_robin")
        return Fixed(pairing, task.n_agents, task.budget, task.seed)
    question = questions.get(task.question)
    asked = read_parameters(task.question, question.parameters, {})
    name, parameters = choose_pairing(task.question, asked)
    return Adaptive(pairings.get_adaptive(name).configured(parameters), task.seed * 1_000_003)


def _best_is_wrong(world: World, verdict: Verdict, allowed: float) -> bool:
    return world.ahead(int(world.truth.argmax()), verdict.subjects[0]) > allowed


def _top_is_wrong(world: World, verdict: Verdict, allowed: float) -> bool:
    named = list(verdict.subjects)
    others = np.delete(np.arange(len(world.truth)), named)
    best = int(others[world.truth[others].argmax()])
    return max(world.ahead(best, one) for one in named) > allowed


def _order_is_wrong(world: World, verdict: Verdict, allowed: float) -> bool:
    order = verdict.subjects
    pairs = ((above, below) for place, above in enumerate(order) for below in order[place + 1 :])
    return any(world.ahead(below, above) > allowed for above, below in pairs)


def _beats_is_wrong(world: World, verdict: Verdict, allowed: float) -> bool:
    a, b = verdict.subjects
    gap = world.ahead(a, b) - world.ahead(b, a)
    if verdict.why is StopReason.WITHIN_MARGIN:
        return abs(gap) > allowed
    return gap >= 0 if "not" in verdict.statement else gap <= 0


WRONG: dict[str, Callable[[World, Verdict, float], bool]] = {
    "best": _best_is_wrong,
    "top_k": _top_is_wrong,
    "rank_all": _order_is_wrong,
    "beats": _beats_is_wrong,
}
"""By question: whether a verdict is wrong by more than allowed."""


def rows(ours: Sequence[tuple[Task, Held]], even: Sequence[tuple[Task, Held]]) -> list[Row]:
    """Return the rows of the benchmark, one an error."""
    return [_row(ours, even, error) for error in ERRORS]


def _row(ours: Sequence[tuple[Task, Held]], even: Sequence[tuple[Task, Held]], error: float) -> Row:
    mine = [held.ended[error] for _, held in ours]
    others = [held.ended[error] for _, held in even]
    fields = sorted({task.field for task, _ in ours})
    n_wrong = sum(one.is_wrong for one in mine)
    decided = sum(one.why is not StopReason.OUT_OF_BUDGET for one in mine)
    return {
        "question": ours[0][0].question,
        "field": "+".join(fields),
        "agents": ours[0][0].n_agents,
        "margin": ours[0][0].margin,
        "budget": ours[0][0].budget,
        "stated_error": error,
        "wrong": n_wrong,
        "n": len(mine),
        "lower_bound": lower_bound(n_wrong, decided),
        "wrong_share": n_wrong / max(1, decided),
        "decided": decided,
        "decided_share": decided / len(mine),
        "by_margin": sum(one.why is StopReason.WITHIN_MARGIN for one in mine),
        "median_matches": median(one.n_matches for one in mine),
        "round_robin_matches": median(one.n_matches for one in others) if others else None,
        "round_robin_n": len(others),
    }


def lower_bound(n_wrong: int, n: int) -> float:
    """Return the lower Clopper-Pearson bound of a share, at 95 %, one side."""
    return float(beta.ppf(1 - CONFIDENCE, n_wrong, n - n_wrong + 1)) if n_wrong else 0.0
