"""What ratings expect of a game: mean and variance of its points, and how they turn on the gap."""

from math import pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import BETA, unit_draw_margin
from arena.ratings.counts import Floats

_UNIT = sqrt(2) * BETA


class ExpectedPoints(NamedTuple):
    """Of a game, a win 1 and a draw one half; slope: of the mean, by the gap in rating."""

    mean: Floats
    variance: Floats
    slope: Floats


def expect_points(gap: Floats, *, draw_probability: float, seat: float = 0.0) -> ExpectedPoints:
    """Return what is expected of agents so far apart, over both seats, as blocks are played.

    gap: in units of rating. seat: what sitting first is worth, in the same.
    """
    margin = unit_draw_margin(draw_probability)
    as_first, as_second = (_expect_one((gap + worth) / _UNIT, margin) for worth in (seat, -seat))
    return ExpectedPoints(
        *((first + second) / 2 for first, second in zip(as_first, as_second, strict=True))
    )


def _expect_one(lead: Floats, margin: float) -> tuple[Floats, Floats, Floats]:
    win, not_lost = ndtr(lead - margin), ndtr(lead + margin)
    mean = (win + not_lost) / 2
    slope = (_find_density(lead - margin) + _find_density(lead + margin)) / (2 * _UNIT)
    return mean, win + (not_lost - win) / 4 - mean**2, slope


def _find_density(x: Floats) -> Floats:
    density: Floats = np.exp(-(x**2) / 2) / sqrt(2 * pi)
    return density
