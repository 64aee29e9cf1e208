"""Blocks as the unit of evidence: how much more or less they say than that many single matches.

The matches of a block share their game seed. Where the seed alone decides, they tell little more
than one of them (dispersion near 2 for two seats); where the opening favours one seat, the turns
cancel that out and the sum is surer than two single matches (dispersion below 1). The dispersion is
the variance of the points of a block about their mean under the model, relative to what independent
matches would have. Divide a result's weight by it (`settle(weight=...)`) for honest doubts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import BETA, RatingError, unit_draw_margin
from arena.ratings.counts import Floats, Ints

_UNIT = sqrt(2) * BETA
_PRIOR_BLOCKS = 20.0
"""So many blocks of dispersion 1 are thought to have been seen before."""
_LEAST = 0.1
_COLUMNS = ("first", "second", "n_matches", "twice_points", "n_blocks")


@dataclass(frozen=True)
class Dispersion:
    """The factor on the variance of a block's points, and how many blocks it comes from."""

    factor: float
    n_blocks: int


def dispersion(
    rows: Iterable[tuple[int, int, int, int, int]] | Ints,
    mu: Floats,
    *,
    draw_probability: float,
    seat: float = 0.0,
) -> Dispersion:
    """Return the dispersion of blocks of the settled agents mu [n].

    rows: (first, second, n_matches, twice_points, n_blocks), how often the pair had a block of so
    many matches of theirs in which first had so many half points; half of the matches in each order
    of the seats. seat: the fitted advantage of the first seat. Raises RatingError.
    """
    first, second, n_matches, twice_points, n_blocks = _checked(rows, len(mu)).T
    if n_blocks.sum() == 0:
        return Dispersion(1.0, 0)
    mean, variance = _expected(mu[first] - mu[second], seat, unit_draw_margin(draw_probability))
    squares = (twice_points / 2 - n_matches * mean) ** 2
    n, wanted = int(n_blocks.sum()), float(n_blocks @ (n_matches * variance))
    n_fitted = min(len(np.union1d(first, second)) - 1, n / 2)
    found = float(n_blocks @ squares) * n / (n - n_fitted)
    unseen = _PRIOR_BLOCKS * wanted / n
    largest = float(n_matches.max())
    return Dispersion(float(np.clip((found + unseen) / (wanted + unseen), _LEAST, largest)), n)


def _expected(gap: Floats, seat: float, margin: float) -> tuple[Floats, Floats]:
    """Return mean and variance of the points of one match, half of them in each order."""
    mean, variance = np.zeros_like(gap), np.zeros_like(gap)
    for lead in ((gap + seat) / _UNIT, (gap - seat) / _UNIT):
        win, loss = ndtr(lead - margin), ndtr(-lead - margin)
        share = (1 + win - loss) / 2
        mean += share / 2
        variance += (win + (1 - win - loss) / 4 - share**2) / 2
    return mean, variance


def _checked(rows: Iterable[tuple[int, int, int, int, int]] | Ints, n_agents: int) -> Ints:
    table = np.asarray(rows if isinstance(rows, np.ndarray) else list(rows), np.int64)
    table = table.reshape(-1, len(_COLUMNS))
    highest = [n_agents - 1, n_agents - 1, None, None, None]
    lowest = [0, 0, 1, 0, 0]
    for name, column, low, high in zip(_COLUMNS, table.T, lowest, highest, strict=True):
        wrong = (column < low) | (column > (column if high is None else high))
        if wrong.any():
            shown = "" if high is None else f"..{high}"
            raise RatingError(f"{name} must be from {low}{shown}, got {column[wrong.argmax()]}")
    if (table[:, 3] > 2 * table[:, 2]).any():
        raise RatingError("twice_points must be at most 2 * n_matches")
    return table
