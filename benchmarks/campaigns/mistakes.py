"""Which verdicts are wrong, and what a share of them says."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import binomtest

from arena.ratings.counts import Floats
from arena.verdicts.base import StopReason, Verdict
from benchmarks.campaigns.hard.base import Leads
from benchmarks.campaigns.hard.rules import is_bold
from benchmarks.campaigns.plans import Task
from benchmarks.campaigns.worlds import Truth

# What the question takes by default.
N_TOP_K = 3


@dataclass(frozen=True, eq=False)
class Moment:
    """A world at one time, as verdicts are told wrong by it."""

    world: Leads
    time: float

    @property
    def truth(self) -> Floats:
        """Nothing but the number of agents: of some worlds there is no one number."""
        return np.zeros(self.world.n_agents)

    def find_lead(self, one: int, other: int) -> float:
        return self.world.find_lead(one, other, self.time)


def is_wrong_at(task: Task, moment: Moment, verdict: Verdict) -> bool:
    """Say whether a verdict claims to be sure and is wrong at this moment.

    So is one that there is no order, where there is one, or that tells a pair the wrong way round.
    """
    if verdict.why is StopReason.NO_ORDER:
        return has_order(task.question, moment, task.margin) or has_wrong_pair(
            verdict, moment, task.margin
        )
    if not is_bold(verdict):
        return False
    # Who has stopped by the margin has said no more than that.
    allowed = task.margin if verdict.why is StopReason.WITHIN_MARGIN else 0.0
    return is_wrong(task.question, moment, verdict, allowed)


def has_wrong_pair(verdict: Verdict, moment: Moment, margin: float) -> bool:
    """Return whether an order with upsets tells who beats whom, by the margin, wrongly."""
    upsets = set(verdict.upsets)
    pairs = combinations(verdict.subjects if upsets else (), 2)
    ordered_pairs = [pair[::-1] if pair[::-1] in upsets else pair for pair in pairs]
    return any(moment.find_lead(loser, winner) > margin for winner, loser in ordered_pairs)


def has_order(question: str, moment: Moment, margin: float) -> bool:
    """Return whether agents can be named of whom nobody is worse, by the margin, than another."""
    n = moment.world.n_agents
    beats = np.array(
        [[moment.find_lead(agent, other) > margin for other in range(n)] for agent in range(n)]
    )
    left = list(range(n))
    # Those that nobody left beats go first: what stays is in circles, or behind one.
    while free := [agent for agent in left if not beats[left, agent].any()]:
        left = [agent for agent in left if agent not in free]
    n_named = {"best": 1, "top_k": N_TOP_K}.get(question, n)
    return n - len(left) >= n_named


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


def find_lower_bound(n_wrong: int, n: int) -> float:
    """Return the lower Clopper-Pearson bound of a share, at 95 %, one side."""
    if n == 0:
        return 0.0
    return float(binomtest(n_wrong, n, alternative="greater").proportion_ci(0.95).low)


def find_upper_bound(n_wrong: int, n: int) -> float:
    """Return the upper Clopper-Pearson bound of a share, at 95 %, one side."""
    return float(binomtest(n_wrong, n, alternative="less").proportion_ci(0.95).high)
