"""How far the results of pairs depart from one ranking: the variance of their own leads.

No field is quite a ranking by one number: the lead of one agent over another is the difference of
their ratings plus something of that pair's own. What of its variance is plain is estimated by the
method of moments from what the pairs did against what the ratings expect (DerSimonian and Laird
1986, of trials that are not alike), as far as it is more than chance would show. What is believed
where some departure is thought of beforehand goes by its likelihood (arena.ratings.pair_evidence).
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.base import BETA
from arena.ratings.counts import Floats, PairCounts
from arena.ratings.expected_points import expect_points
from arena.ratings.pair_evidence import PairEvidence
from arena.ratings.pair_table import tabulate_pairs

# Upsets of agents far apart are rare, and one of them would outweigh all other pairs.
_LEAST_VARIANCE = 0.05
# About a lead, in units of rating: a standard deviation of ten thousand.
_LEAST_INFORMATION = 1e-8
# Standard deviations of chance that are taken off.
_BY_CHANCE = 1.0
# From so many on pairs may depart by this, however alike their agents' ratings are.
_CLEARLY, _CIRCLING = 4.0, 2 * BETA
# The scale of what is thought of departures beforehand, as a part of the spread, where the first
# few are asked for; and where the order of all is, of ten agents, and at most: the more pairs there
# are, the sooner these tell it by themselves; and at least, as none is quite a ranking.
EXPECTED = 0.48
_IN_ORDER_OF_TEN, _MOST_IN_ORDER, _LEAST_IN_ORDER = 0.016, 0.12, 0.008
# Departures that are thought of, as parts of the spread, and where what each stands for ends.
_SHARES = np.array(
    [0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1], np.float64
)
_ENDS = np.concatenate([[0.0], (_SHARES[1:] + _SHARES[:-1]) / 2, [1.0]])


class PairVariance(NamedTuple):
    """How far pairs depart from a ranking.

    variance: of the lead, in units of rating, squared, as far as it is plain. excess: of the
    departures over what chance makes of one ranking, in standard deviations. evidence: what each
    pair did; None where ratings fit whatever they did, or no pair tells anything.
    """

    variance: float
    excess: float
    evidence: PairEvidence | None = None


NO_PAIR_VARIANCE = PairVariance(0.0, 0.0)


def expect_in_order(n_agents: int) -> float:
    """Return what is thought of leads beforehand, as a part of the spread, for an order of all."""
    scale = _IN_ORDER_OF_TEN * (10 / n_agents) ** 2
    return max(_LEAST_IN_ORDER, min(_MOST_IN_ORDER, scale))


def find_spread(mu: Floats, sd: Floats, spread: float) -> float:
    """Return how far the agents are apart: the fitted spread, or less where parents say so.

    mu, sd: [n], of their ratings. The fitted one is that of agents without a parent.
    """
    squares = float((mu - mu.mean()) @ (mu - mu.mean()) + sd @ sd)
    return min(spread, sqrt(squares / max(1, len(mu) - 1)))


class LikelyVariances(NamedTuple):
    """What the variance of leads beside the ratings may be, in units of rating, squared.

    values: float64 [s]. before, now: how likely each is before any result and by all: [s], sum 1.
    """

    values: Floats
    before: Floats
    now: Floats

    @property
    def mean(self) -> float:
        """Return the variance that is believed."""
        return float(self.now @ self.values)

    def forget(self) -> "LikelyVariances":
        """Return what was thought before any result."""
        return self._replace(now=self.before)


def believe_pair_variance(
    estimate: PairVariance, spread: float, expected: float, *, seat: float
) -> float:
    """Return the variance of leads where pairs are thought to depart before they show it.

    The mean of what departures are likely after the results, never less than what is plain.
    """
    likely = weigh_pair_variances(estimate, spread, expected, seat=seat)
    return max(estimate.variance, likely.mean)


def weigh_pair_variances(
    estimate: PairVariance, spread: float, expected: float, *, seat: float
) -> LikelyVariances:
    """Return how likely each variance of leads is.

    expected: as a part of the spread, the scale of a half-Cauchy distribution (Gelman 2006), which
    lets results tell of any up to the spread, and what is plain of more. Agents that are as close
    as the checkpoints of one run are alike, and so are those who win by where they sit: of them
    little is thought. seat: what sitting first is worth.
    """
    far_apart = spread**2 / (spread**2 + BETA**2 + seat**2)
    departures = _SHARES * far_apart * spread
    before: Floats = np.diff(np.arctan(_ENDS / expected))
    now = before
    if estimate.evidence is not None:
        likelihood = estimate.evidence.weigh_departures(departures)
        now = before * np.exp(likelihood - likelihood.max())
    return LikelyVariances(departures**2, before / before.sum(), now / now.sum())


def estimate_pair_variance(
    counts: PairCounts,
    mu: Floats,
    covariance: Floats,
    *,
    draw_probability: float,
    spread: float,
    seat: float = 0.0,
    dispersion: float = 1.0,
) -> PairVariance:
    """Return the variance of the leads of pairs about the differences of these ratings.

    counts: of these agents, whoever sat first. covariance: float64 [n, n], of the fit. spread:
    of the skills, beyond which no pair is thought to depart unless it is plain. seat: what sitting
    first is worth. dispersion: how much more blocks vary than their games would.
    """
    table = tabulate_pairs(counts, len(mu))
    if len(table.low) < len(counts.agents):
        # Ratings fit a tree of pairs, whatever they did.
        return NO_PAIR_VARIANCE
    low, high, n_met = table.low, table.high, table.n_results
    mean, variance, slope = _expect_pairs(counts, mu, draw_probability, seat) / n_met
    variance = np.maximum(variance, _LEAST_VARIANCE) * dispersion
    information = n_met * slope**2 / variance
    variances = np.diag(covariance)
    doubt = np.maximum(variances[low] + variances[high] - 2 * covariance[low, high], 0)
    # What the ratings have taken of each pair's own results is no departure any more.
    left = np.clip(1 - information * doubt, 0, 1)
    squares = float((n_met * (table.share - mean) ** 2 / variance).sum())
    expected, chance = float(left.sum()), sqrt(2 * max(float(left.sum()), 1.0))
    excess = (squares - expected) / chance
    weight = float((information * left**2).sum())
    if weight <= 0:
        return PairVariance(0.0, excess)
    # Of agents that are further apart than any result can tell there is no lead to speak of.
    tells = information > _LEAST_INFORMATION
    lead = mu[low[tells]] - mu[high[tells]] + (table.share - mean)[tells] / slope[tells]
    noise = 1 / information[tells]
    # With parents the fitted spread is less than what ratings came to, step by step.
    apart = max(spread, float(mu.std(ddof=1)))
    evidence = PairEvidence(low[tells], high[tells], lead, noise, len(mu), apart)
    surely = max(0.0, excess - _BY_CHANCE) * chance / weight
    # Of agents that beat each other in a circle the ratings are all alike: they bound nothing.
    most = (max(spread, _CIRCLING) if excess >= _CLEARLY else spread) ** 2
    return PairVariance(min(surely, most), excess, evidence)


def _expect_pairs(counts: PairCounts, mu: Floats, draw_probability: float, seat: float) -> Floats:
    """Return expected points of the lower index, variance and slope, summed by pair: [3, pairs]."""
    is_turned = counts.first > counts.second
    gap = np.where(is_turned, -1, 1) * (mu[counts.first] - mu[counts.second] + seat)
    n_results = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    low, high = np.minimum(counts.first, counts.second), np.maximum(counts.first, counts.second)
    _, which = np.unique(low * len(mu) + high, return_inverse=True)
    columns = expect_points(gap, draw_probability=draw_probability)
    return np.stack([np.bincount(which, weights=n_results * column) for column in columns])
