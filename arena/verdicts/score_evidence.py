"""Evidence about the mean of paired score differences, which holds however often it is looked at.

A test by betting: a gambler bets on the mean of bounded values being above a limit, each time with
a fixed share of the capital; if it is not, no bet gains on average, so the capital ever exceeds
1 / error with a probability of at most error (Ville's inequality). The capital is shared among
bets of different sizes. Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random
variables by betting", JRSS-B 86: diversified Kelly bets.

Fixed bets and not those that follow the data (aGRAPA): the capital after n seeds then does not
depend on their order and falls as the limit rises, so bounds are found by bisection.
"""

from math import isfinite, log

import numpy as np

from arena.ratings.counts import Bools, Floats
from arena.verdicts.base import MAX_ERROR, VerdictError

# Shares of what may be bet. The largest stays below 1, so that no single value ruins all bets.
BETS = np.geomspace(2**-8, 0.98, 12)
# Of the capital at the start. The large bets have more of it: they decide what needs few seeds,
# where the rest of the capital weighs most.
_SHARES = np.sqrt(BETS) / np.sqrt(BETS).sum()
_BISECTIONS = 50


def score_width(score_range: tuple[float, float]) -> float:
    """Return the largest difference of two scores in this range. Raises VerdictError."""
    low, high = score_range
    if not (isfinite(low) and isfinite(high) and low < high):
        raise VerdictError(f"score range must be two finite numbers, low < high: {score_range!r}")
    return float(high - low)


def watch_evidence(differences: Floats, width: float, limit: Floats | float = 0.0) -> Floats:
    """Return log capital against "the mean is limit or less" after each seed.

    differences: float64 [..., n] by seed index, each in -width..width. Only seeds before the first
    NaN count: which ones are known early may depend on how they ended. limit: one, or [...].
    """
    filled = np.where(np.isnan(differences), 0.0, differences)
    if np.abs(filled).max(initial=0.0) > width:
        raise VerdictError(f"score differences must be in {-width:g}..{width:g}")
    is_counted = np.logical_and.accumulate(~np.isnan(differences), axis=-1)
    above_lowest = np.asarray(limit, np.float64)[..., None] + width
    # No mean is below -width: a limit there is refuted before the first seed.
    is_refuted = above_lowest <= 0
    gains = (filled + width) / np.where(is_refuted, width, above_lowest) - 1
    gains = np.where(is_counted, gains, 0.0)
    capital = np.full(gains.shape, -np.inf)
    for bet, share in zip(BETS, _SHARES, strict=True):
        grown = log(share) + np.cumsum(np.log1p(bet * gains), axis=-1)
        capital = np.logaddexp(capital, grown)
    evidence: Floats = np.where(is_refuted, np.inf, capital)
    return evidence


def weigh_differences(differences: Floats, width: float, limit: Floats | float = 0.0) -> Floats:
    """Return log capital against "the mean is limit or less" after all seeds: float64 [...]."""
    # A seed without gain or loss in front: the capital before the first one is 1.
    start = np.zeros((*differences.shape[:-1], 1)) + np.asarray(limit, np.float64)[..., None]
    start = np.clip(start, -width, width)
    return watch_evidence(np.concatenate([start, differences], axis=-1), width, limit)[..., -1]


def is_above(differences: Floats, width: float, limit: float, error: float) -> Bools:
    """Return whether the mean is surely above the limit: bool [...]; of each, wrong by error."""
    _check_error(error)
    is_sure: Bools = weigh_differences(differences, width, limit) >= -log(error)
    return is_sure


def bound_mean(differences: Floats, width: float, error: float) -> Floats:
    """Return the lower end of a one-sided confidence sequence for the mean: float64 [...].

    For the upper end: minus that of minus the differences.
    """
    _check_error(error)
    low = np.full(differences.shape[:-1], -float(width))
    high = np.full(differences.shape[:-1], float(width))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        is_refuted = weigh_differences(differences, width, middle) >= -log(error)
        low, high = np.where(is_refuted, middle, low), np.where(is_refuted, high, middle)
    return low


def enclose_mean(differences: Floats, width: float, error: float) -> tuple[Floats, Floats]:
    """Return both ends of a confidence sequence for the mean: half of the error on each side."""
    low = bound_mean(differences, width, error / 2)
    return low, -bound_mean(-differences, width, error / 2)


def _check_error(error: float) -> None:
    if not 0 < error < MAX_ERROR:
        raise VerdictError(f"error must be between 0 and {MAX_ERROR}, got {error!r}")
