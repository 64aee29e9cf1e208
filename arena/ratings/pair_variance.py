"""How far the results of pairs depart from one ranking: the variance of their own leads.

No field is quite a ranking by one number: the lead of one agent over another is the difference of
their ratings plus something of that pair's own. Its variance is estimated by the method of moments
from what the pairs did against what the ratings expect (DerSimonian and Laird 1986, of trials that
are not alike), and counts only as far as it is more than chance would show.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Floats, PairCounts
from arena.ratings.expected_points import expect_points
from arena.ratings.pair_table import tabulate_pairs

# Upsets of agents far apart are rare, and one of them would outweigh all other pairs.
_LEAST_VARIANCE = 0.05
# Standard deviations of chance that are taken off.
_BY_CHANCE = 1.0


class PairVariance(NamedTuple):
    """How far pairs depart from a ranking.

    variance: of the lead, in units of rating, squared. excess: of the departures over what chance
    makes of one ranking, in standard deviations.
    """

    variance: float
    excess: float


NO_PAIR_VARIANCE = PairVariance(0.0, 0.0)


def estimate_pair_variance(
    counts: PairCounts,
    mu: Floats,
    covariance: Floats,
    *,
    draw_probability: float,
    seat: float = 0.0,
    dispersion: float = 1.0,
) -> PairVariance:
    """Return the variance of the leads of pairs about the differences of these ratings.

    counts: of these agents, whoever sat first. covariance: float64 [n, n], of the fit. seat: what
    sitting first is worth. dispersion: how much more blocks vary than their games would.
    """
    met = tabulate_pairs(counts, len(mu))
    if not len(met.low):
        return NO_PAIR_VARIANCE
    low, high, n_met = met.low, met.high, met.n_results
    mean, variance, slope = expect_points(
        mu[low] - mu[high], draw_probability=draw_probability, seat=seat
    )
    variance = np.maximum(variance, _LEAST_VARIANCE) * dispersion
    information = n_met * slope**2 / variance
    alone = np.diag(covariance)
    doubt = np.maximum(alone[low] + alone[high] - 2 * covariance[low, high], 0)
    # What the ratings have taken of each pair's own results is no departure any more.
    left = np.clip(1 - information * doubt, 0, 1)
    squares = float((n_met * (met.share - mean) ** 2 / variance).sum())
    expected, chance = float(left.sum()), sqrt(2 * max(float(left.sum()), 1.0))
    excess = (squares - expected) / chance
    weight = float((information * left**2).sum())
    if excess <= _BY_CHANCE or weight <= 0:
        return PairVariance(0.0, excess)
    return PairVariance((excess - _BY_CHANCE) * chance / weight, excess)
