"""The deviance test: whether the results depart from every ranking by one number.

The deviance compares each pair's share of the points with what the ratings say. Its distribution
comes from replicates drawn from the fitted model (a parametric bootstrap), each rated again by one
step of Newton's method, so that few results and draws do no harm. The draw probability is fitted,
too: draws that are rarer or more common than thought are no departure from a ranking.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, xlogy

from arena.ratings.base import BETA, DRAW_PROBABILITY, RatingError, unit_draw_margin
from arena.ratings.counts import Floats, Ints, PairCounts, sum_by_key
from arena.ratings.information_matrix import DENSE_LIMIT
from arena.ratings.likelihood import draw_terms, win_terms
from arena.ratings.pair_table import PairTable, tabulate_pairs
from arena.ratings.settled import SettledRatings, settle_ratings

N_REPLICATES = 500
_UNIT = sqrt(2) * BETA
_N_FITS = 2
_FEWEST, _MOST = 1e-4, 0.95
# Numbers of replicates held at a time.
_CHUNK = 2_000_000
_LEAST_SHARE = 1e-12


@dataclass(frozen=True)
class Deviance:
    """How far the results are from any ranking, and how likely that is if one is true (p_value).

    expected: the mean of the replicates, near df where each pair met often. draw_probability: the
    fitted one.
    """

    deviance: float
    df: int
    p_value: float
    draw_probability: float
    expected: float


def deviance_test(
    counts: PairCounts, n_agents: int, *, seed: int, n_replicates: int = N_REPLICATES
) -> Deviance:
    """Return the test; the smallest p_value is 1 / (n_replicates + 1). Raises RatingError.

    For two seats; pairs of a match of more are not independent, and the p_value is too small then.
    Where most pairs met a few times only it is too large by a little: the fitted field, from which
    the replicates come, is somewhat closer than the true one.
    """
    if n_agents > DENSE_LIMIT:
        raise RatingError(f"the test is for {DENSE_LIMIT} agents at most, got {n_agents}")
    table = tabulate_pairs(counts, n_agents)
    # Pairs less the differences that the ratings fit: one fewer than agents in each part of the
    # field in which all met, directly or through others.
    n, ones = table.n_agents, np.ones(len(table.low))
    n_parts = connected_components(coo_array((ones, (table.low, table.high)), shape=(n, n)))[0]
    df = len(table.low) - (n - n_parts)
    settled, draw_probability = fit_field(counts, table)
    if df == 0:
        return Deviance(0.0, 0, 1.0, draw_probability, 0.0)
    replicates = _Replicates(table, settled, unit_draw_margin(draw_probability))
    observed = replicates.measure_observed()
    replicated = replicates.draw_deviances(n_replicates, np.random.default_rng(seed))
    n_as_far = int(np.count_nonzero(replicated >= observed))
    # The results count as one replicate of themselves, so that no p-value is 0.
    p_value = (1 + n_as_far) / (1 + n_replicates)
    return Deviance(observed, df, p_value, draw_probability, float(replicated.mean()))


def fit_field(counts: PairCounts, table: PairTable) -> tuple[SettledRatings, float]:
    """Return the ratings under the draw probability that explains the number of draws, and it."""
    probability = DRAW_PROBABILITY if table.draws.any() else 0.0
    settled = settle_ratings(counts, table.n_agents, draw_probability=probability)
    for _ in range(_N_FITS if table.draws.any() else 0):
        probability = _fit_draws(table, settled)
        settled = settle_ratings(
            counts, table.n_agents, draw_probability=probability, start=settled.mu
        )
    return settled, probability


def _fit_draws(table: PairTable, settled: SettledRatings) -> float:
    gap = (settled.mu[table.low] - settled.mu[table.high]) / _UNIT

    def excess(probability: float) -> float:
        win, loss = _find_win_chances(gap, unit_draw_margin(probability))
        return float(table.n_results @ (1 - win - loss) - table.draws.sum())

    if excess(_MOST) <= 0:
        return _MOST
    return _FEWEST if excess(_FEWEST) >= 0 else float(brentq(excess, _FEWEST, _MOST))


def _find_win_chances(gap: Floats, margin: float) -> tuple[Floats, Floats]:
    """Return the chances that the lower and that the higher index wins."""
    return ndtr(gap - margin), ndtr(-gap - margin)


class _Replicates:
    """Tables drawn from the fitted model, and how far they are from a ranking."""

    def __init__(self, table: PairTable, settled: SettledRatings, margin: float) -> None:
        self._table, self._margin = table, margin
        self._gap = (settled.mu[table.low] - settled.mu[table.high]) / _UNIT
        self._covariance = np.asarray(settled.covariance) / _UNIT**2
        self._n = table.n_results

    def measure_observed(self) -> float:
        """Return the deviance of the results themselves."""
        return float(self._find_deviance(self._table.share[None], self._gap[None])[0])

    def draw_deviances(self, n_replicates: int, rng: np.random.Generator) -> Floats:
        """Return the deviance of each replicate, [n_replicates], after one step of Newton's."""
        # Replicates in parts: [replicates, pairs, 3] of a large field would not fit into memory.
        size = max(1, _CHUNK // (3 * len(self._gap)))
        sizes = [min(size, n_replicates - at) for at in range(0, n_replicates, size)]
        return np.concatenate([self._draw_some(n, rng) for n in sizes])

    def _draw_some(self, n_replicates: int, rng: np.random.Generator) -> Floats:
        win, loss = _find_win_chances(self._gap, self._margin)
        chances = np.stack([win, np.maximum(1 - win - loss, 0), loss], axis=1)
        chances /= chances.sum(axis=1, keepdims=True)
        times = rng.multinomial(self._n.astype(np.int64), chances, (n_replicates, len(self._gap)))
        share = (times[..., 0] + times[..., 1] / 2) / self._n
        moved = self._find_deviance(share, self._gap + self._refit_gaps(times))
        # A step that a rare upset made too long is worse than none.
        return np.minimum(moved, self._find_deviance(share, self._gap[None]))

    def _refit_gaps(self, times: Ints) -> Floats:
        """Return how much one step of Newton's method changes the gaps: [replicates, m]."""
        table, n = self._table, self._table.n_agents
        # The slope of the logarithm of each outcome's chance by the gap: [m, 3].
        win = win_terms(self._gap, self._margin).slope
        loss = -win_terms(-self._gap, self._margin).slope
        draw = draw_terms(self._gap, self._margin).slope if self._margin else np.zeros_like(win)
        slopes = np.stack([win, draw, loss], axis=1)
        counts = np.stack([table.low_wins, table.draws, table.high_wins], axis=1)
        # At the mode the slope of the prior is minus that of what was seen.
        slope = ((times - counts) * slopes).sum(axis=2)
        gradient = np.stack(
            [sum_by_key(table.low, row, n) - sum_by_key(table.high, row, n) for row in slope]
        )
        step = gradient @ self._covariance
        moved: Floats = step[:, table.low] - step[:, table.high]
        return moved

    def _find_deviance(self, share: Floats, gap: Floats) -> Floats:
        """Return twice the loss of likelihood by the ratings: [replicates]."""
        win, loss = _find_win_chances(gap, self._margin)
        # A share of 0 or 1 that the ratings call impossible has an endless deviance.
        expected = np.clip((1 + win - loss) / 2, _LEAST_SHARE, 1 - _LEAST_SHARE)
        apart = xlogy(share, share / expected) + xlogy(1 - share, (1 - share) / (1 - expected))
        return 2 * apart @ self._n
