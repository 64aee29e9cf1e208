"""What is believed of the agents now if their strength walks.

The belief of each speed at the end of the blocks (arena.verdicts.walks) is normal; together they
are a mixture, of which the mean and the covariance are taken. The lead of a pair and the difference
of its agents are jointly normal in it, so the one is told by the other as in pairs that depart from
ratings that stay.
"""

from dataclasses import replace

import numpy as np

from arena.ratings.base import MU
from arena.ratings.counts import Floats
from arena.ratings.pair_leads import PairLeads
from arena.verdicts.beliefs import Belief
from arena.verdicts.lead_effects import LeadEffects
from arena.verdicts.lead_filter import EffectBelief
from arena.verdicts.walks import Walked


def believe_walk(walked: Walked, likely: Floats, pair_variance: float, steady: Belief) -> Belief:
    """Return what is believed of the agents at the end of a walk.

    likely: float64 [k], how likely each of its steps is, next to each other. pair_variance: as it
    was followed. steady: what is believed if none walks, of which all else is taken.
    """
    mu, covariance = _collapse(walked.belief, likely / likely.sum())
    n = steady.n_agents
    leads = _find_leads(walked.effects, mu, covariance, pair_variance) if pair_variance else None
    joint = covariance[:n, :n]
    sd = np.sqrt(np.diag(joint))
    # How far pairs were found to depart from ratings that stay says nothing beside a walk.
    return replace(
        steady, mu=MU + mu[:n], covariance=joint, sd=sd, leads=leads, pair_variances=None
    )


def _collapse(belief: EffectBelief, likely: Floats) -> tuple[Floats, Floats]:
    """Return mean float64 [e] and covariance float64 [e, e] of the mixture."""
    mu: Floats = likely @ belief.mu
    apart = belief.mu - mu
    within = np.tensordot(likely, belief.covariance, 1)
    covariance: Floats = within + (likely[:, None] * apart).T @ apart
    return mu, covariance


def _find_leads(
    effects: LeadEffects, mu: Floats, covariance: Floats, pair_variance: float
) -> PairLeads:
    n = len(mu) - len(effects.low)
    share, own = np.ones((n, n)), np.zeros((n, n))
    variance = np.full((n, n), pair_variance)
    low, high, pair = effects.low, effects.high, n + np.arange(len(effects.low))
    alone = np.diag(covariance)
    of_gap = alone[low] + alone[high] - 2 * covariance[low, high]
    with_gap = covariance[low, pair] - covariance[high, pair]
    # How much of a difference of the agents is one of their lead, and what is left of it.
    share[low, high] = 1 + with_gap / of_gap
    # Rounding may leave of a lead that the difference tells a variance below 0.
    variance[low, high] = np.maximum(alone[pair] - with_gap**2 / of_gap, 0)
    own[low, high] = mu[pair] - with_gap / of_gap * (mu[low] - mu[high])
    share[high, low], variance[high, low] = share[low, high], variance[low, high]
    own[high, low] = -own[low, high]
    return PairLeads(share, own, variance)
