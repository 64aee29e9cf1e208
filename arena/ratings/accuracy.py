"""How well ratings order agents whose true levels are known."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from arena.ratings.base import RatingError


def seed_accuracy(levels: Sequence[float], mus: Sequence[float]) -> float | None:
    """Return the share of ordered pairs, i == j included, whose levels and ratings do not disagree.

    The figure that the first sketch of this system printed. A tie agrees with everything, so it
    reads 1.0 before the first match: judge by strict_accuracy. None without agents.
    """
    by_level, by_rating = _compare_all(levels, mus)
    if by_level.size == 0:
        return None
    return float(np.mean(by_level * by_rating >= 0))


def strict_accuracy(levels: Sequence[float], mus: Sequence[float]) -> float | None:
    """Return the share of pairs i < j with different levels that the ratings put in that order.

    A tie in rating counts one half. None when no two levels differ.
    """
    by_level, by_rating = _compare_all(levels, mus)
    n_pairs = np.count_nonzero(by_level)
    if n_pairs == 0:
        return None
    # Every unordered pair stands twice in both, so the share is the same.
    return float(np.sum(1 + by_level * by_rating, where=by_level != 0) / (2 * n_pairs))


def _compare_all(
    levels: Sequence[float], mus: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sign of every difference of levels and of ratings: [n, n] each."""
    if len(levels) != len(mus):
        raise RatingError(f"{len(levels)} levels cannot be compared with {len(mus)} ratings")
    level, mu = np.asarray(levels, np.float64), np.asarray(mus, np.float64)
    return np.sign(level[:, None] - level), np.sign(mu[:, None] - mu)
