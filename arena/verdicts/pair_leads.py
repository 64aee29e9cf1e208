"""What is believed of the lead of each two agents, where a field is no ranking by one number.

The lead is the difference of their ratings plus something of the pair's own, N(0, t^2) before they
met (see arena.ratings.pair_variance). What the pair did itself says so much the more about its
lead, the larger t is; what others did says the rest. All leads are jointly normal, given skills
that are.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from arena.ratings.base import BETA, unit_draw_margin
from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.likelihood import draw_terms, win_terms
from arena.ratings.pair_table import tabulate_pairs
from arena.ratings.settled import SettledRatings

_UNIT = sqrt(2) * BETA


@dataclass(frozen=True, eq=False)
class PairLeads:
    """The lead of i over j is share_ij (x_i - x_j) + own_ij, and normal noise of this variance.

    share, own, variance: float64 [n, n]; own is antisymmetric.
    """

    share: Floats
    own: Floats
    variance: Floats

    def restrict_to(self, agents: Ints) -> "PairLeads":
        """Return the same about these agents only, in this order."""
        chosen = np.ix_(agents, agents)
        return PairLeads(self.share[chosen], self.own[chosen], self.variance[chosen])


def infer_pair_leads(
    counts: PairCounts, settled: SettledRatings, *, pair_variance: float, dispersion: float = 1.0
) -> PairLeads:
    """Return the leads by ratings that were fitted to these counts.

    pair_variance: t^2, above 0, in units of rating, squared. dispersion: how much more blocks vary
    than their games would.
    """
    n = len(settled.mu)
    information, pull = np.zeros((n, n)), np.zeros((n, n))
    met = tabulate_pairs(counts, n)
    margin = unit_draw_margin(settled.draw_probability)
    lead = (settled.mu[met.low] - settled.mu[met.high]) / _UNIT
    wins, losses = win_terms(lead, margin), win_terms(-lead, margin)
    slope = met.low_wins * wins.slope - met.high_wins * losses.slope
    curvature = met.low_wins * wins.curvature + met.high_wins * losses.curvature
    if met.draws.any():
        draws = draw_terms(lead, margin)
        slope, curvature = slope + met.draws * draws.slope, curvature + met.draws * draws.curvature
    information[met.low, met.high] = curvature / (_UNIT**2 * dispersion)
    pull[met.low, met.high] = slope / (_UNIT * dispersion)
    information, pull = information + information.T, pull - pull.T
    # One step of Newton's from the difference of the ratings to the lead that the pair shows.
    variance = 1 / (information + 1 / pair_variance)
    own_share = information * variance
    apart = settled.mu[:, None] - settled.mu
    return PairLeads(1 - own_share, own_share * apart + pull * variance, variance)
