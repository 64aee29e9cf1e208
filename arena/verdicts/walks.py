"""How fast strength walks, by how well each speed foretells the results.

Of each speed the ratings are followed from part to part of the blocks: what is believed of them
spreads by the walk, and then the results of the part tell (arena.verdicts.lead_filter). The product
of what each part was thought beforehand to bring is the evidence of a speed. Bayes' rule weighs
them, none included, so that what is expected of the walk falls as fast as results speak against
one.

Two things look like a walk and are none. Pairs that depart from the ratings do while it changes who
meets whom: what they have of their own is an effect beside the walk. And agents do better on some
seeds than on others, which shows where many pairs play one seed before the next, as in a round
robin; it does so in any order of the seeds, so a walk is believed in only as far as it foretells
the results better in the order of time than in others.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import Final, NamedTuple

import numpy as np
from scipy.special import logsumexp

from arena.ratings.base import BETA
from arena.ratings.counts import Floats
from arena.ratings.settled import SettledRatings
from arena.verdicts.lead_effects import LeadEffects, find_effects
from arena.verdicts.lead_filter import EffectBelief, LeadFilter
from arena.verdicts.seed_blocks import SeedBlocks

# Variances of a step from block to block, in those of a performance: from one of a performance's
# size in 800 blocks to one in 12.
STEPS: Final = np.array([0.0, 1 / 800, 1 / 200, 1 / 50, 1 / 12.5]) * BETA**2


class Walked(NamedTuple):
    """What results tell, of each of some steps: evidence, its log, float64 [k].

    effects: those of which the belief, at the end of the blocks, is.
    """

    evidence: Floats
    effects: LeadEffects
    belief: EffectBelief


def weigh_steps(
    blocks: SeedBlocks,
    settled: SettledRatings,
    *,
    dispersion: float,
    n_parts: int,
    steady: float,
    pair_variance: float = 0.0,
    other_orders: Sequence[SeedBlocks] = (),
) -> Floats:
    """Return how likely each of STEPS is by the results: float64 [k].

    dispersion: how much more blocks vary than their games would. steady: how likely it is
    beforehand that nothing walks. pair_variance: of what leads of pairs have of their own, in units
    of rating, squared. other_orders: of the same blocks, each as likely where nothing walks.
    """

    def find_evidence(order: SeedBlocks) -> Floats:
        lead_filter = LeadFilter(settled, dispersion)
        evidence = follow_walks(order, lead_filter, STEPS, n_parts, pair_variance).evidence
        against_none: Floats = evidence - evidence[0]
        return against_none

    evidence = find_evidence(blocks)
    if other_orders:
        others = [find_evidence(order) for order in other_orders]
        evidence = evidence - np.maximum(0, logsumexp(others, axis=0) - log(len(others)))
    prior = np.where(STEPS > 0, (1 - steady) / (len(STEPS) - 1), steady)
    weights = prior * np.exp(evidence - evidence.max())
    likely: Floats = weights / weights.sum()
    return likely


def follow_walks(
    blocks: SeedBlocks,
    lead_filter: LeadFilter,
    steps: Floats,
    n_parts: int,
    pair_variance: float,
) -> Walked:
    """Return what the blocks tell if strength walks so far from one to the next.

    steps: float64 [k], variances of a step.
    """
    settled, agents = lead_filter.settled, np.arange(len(lead_filter.settled.mu))
    effects = find_effects(blocks, len(agents), spread=settled.spread, pair_variance=pair_variance)
    shape = len(steps), len(effects.variance)
    belief = EffectBelief(np.zeros(shape), np.tile(np.diag(effects.variance), (len(steps), 1, 1)))
    evidence = np.zeros(len(steps))
    for start, stop in pairwise(np.arange(n_parts + 1) * len(blocks.first) // n_parts):
        # What a part brings is told of its middle.
        half = (stop - start) / 2 * steps[:, None]
        belief.covariance[:, agents, agents] += half
        part = slice(start, stop)
        gained, belief = lead_filter.learn(belief, effects.take(part), blocks.scores[part])
        evidence += gained
        belief.covariance[:, agents, agents] += half
    return Walked(evidence, effects, belief)
