"""How sure a claim about the order of agents is, no more exactly than the decision needs.

Two bounds are cheap: a claim is at most as sure as its least sure pair, and at least as sure as
Bonferroni's inequality says. Only between the two are samples drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from arena.ratings.counts import Bools, Floats, Ints
from arena.verdicts.beliefs import N_TOP, Belief

# Two blocks: before that, an agent's rating is the prior's rather than its own.
MIN_MATCHES = 4
# Of doubts that are added without a sample.
_HARDLY = 1e-4


@dataclass(frozen=True, eq=False)
class Claim:
    """No agent is better than one of an earlier group by more than the margin.

    order: int64 [n], the agents. sizes: of the groups, the best first; they add up to n.
    """

    order: Ints
    sizes: Sequence[int]
    margin: float

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """The agents of all pairs of different groups, the one to be above and the one below."""
        group = np.repeat(np.arange(len(self.sizes)), self.sizes)
        above, below = np.nonzero(group[:, None] < group)
        return self.order[above], self.order[below]

    def holds(self, skills: Floats) -> Bools:
        """Return whether it is true of skills float64 [s, n]: bool [s]."""
        starts = np.cumsum([0, *self.sizes[:-1]])
        ordered = skills[:, self.order]
        # The highest of each group must stay below the lowest of all groups before it.
        lowest = np.minimum.accumulate(np.minimum.reduceat(ordered, starts, axis=1), axis=1)
        highest = np.maximum.reduceat(ordered, starts, axis=1)
        are_right: Bools = np.all(highest[:, 1:] < lowest[:, :-1] + self.margin, axis=1)
        return are_right


def claim_probability(belief: Belief, claim: Claim) -> float:
    """Return the probability of the claim, never less than Bonferroni's inequality says."""
    return belief.average(partial(_find_probability, claim=claim))


def _find_probability(belief: Belief, claim: Claim) -> float:
    least = np.full(len(claim.pairs[0]), -claim.margin)
    if belief.leads is not None:
        return 1 - _find_doubt(belief, *claim.pairs, least)
    doubts = 1 - belief.superiority(*claim.pairs, least)
    return max(float(np.mean(claim.holds(belief.samples))), 1 - float(doubts.sum()))


def doubt_leads(belief: Belief, above: Ints, below: Ints, least: Floats) -> float:
    """Return how probably some lead of a pair, of above over below, is not more than its least."""
    return belief.average(partial(_find_doubt, above=above, below=below, least=least))


def _find_doubt(belief: Belief, above: Ints, below: Ints, least: Floats) -> float:
    doubts = 1 - belief.superiority(above, below, least)
    # Most pairs of a large field are hardly in doubt: they are added, and not drawn.
    is_drawn = doubts > _HARDLY / max(1, len(doubts))
    drawn = belief.sample_leads(above[is_drawn], below[is_drawn])
    fails = float(np.mean((drawn <= least[is_drawn]).any(axis=1)))
    # By bad luck of the samples it would be more than their sum, by which a verdict may be given.
    return min(1.0, float(doubts.sum()), fails + float(doubts[~is_drawn].sum()))


def is_sure(belief: Belief, claim: Claim, error: float) -> bool:
    """Return whether the claim is wrong with at most this probability."""
    # The two cheap bounds first: most looks of a campaign end at one of them.
    doubts = 1 - belief.superiority(*claim.pairs, -claim.margin)
    if doubts.max(initial=0.0) > error:
        return False
    return bool(doubts.sum() <= error) or 1 - claim_probability(belief, claim) <= error


def is_ready(belief: Belief, agents: Ints) -> bool:
    """Return whether these agents have played enough to be named.

    The others need not have: the doubt about them is that of the prior, and counts as such.
    """
    return bool(belief.n_matches[agents].min() >= MIN_MATCHES)


def compare_neighbours(belief: Belief, ranked: Sequence[int]) -> tuple[float, ...]:
    """Return P(an agent is better than the one ranked next) for the first N_TOP ranks."""
    order = np.array(ranked[:N_TOP], dtype=np.int64)
    return tuple(belief.superiority(order[:-1], order[1:]).tolist())
