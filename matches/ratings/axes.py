"""The one scale on which the intervals of a leaderboard are drawn."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from statistics import median
from typing import TypedDict

from arena.ratings.base import MU
from matches.ratings.standings import Row

_N_TICKS = 6
_N_PARTS = 5  # of a step: how finely the ends of the axis are rounded
_ROUNDING = 1e-9
CUT = 3.0
"""An interval so many times as wide as most ends at the edge of a board's axis."""


class Tick(TypedDict):
    """A mark of the axis."""

    at: float
    label: str


class Axis(TypedDict):
    """The one scale on which all intervals of a board are drawn."""

    low: float
    high: float
    step: float
    ticks: list[Tick]


def fit_axis(rows: Iterable[Row]) -> Axis:
    """Return limits close around the ratings and their intervals."""
    return fit_axis_to_intervals([(float(row["low"]), float(row["high"])) for row in rows])


def fit_axis_to_intervals(intervals: Sequence[tuple[float, float]]) -> Axis:
    """Return limits close around these intervals.

    Of an interval much wider than most a part is left out: it would make all others short.
    """
    reach = CUT * median(high - low for low, high in intervals) / 2 if intervals else 0.0
    ends: list[float] = []
    for low, high in intervals:
        middle = (low + high) / 2
        ends += [max(low, middle - reach), min(high, middle + reach)]
    return fit_axis_to(ends)


def fit_axis_to(ratings: Sequence[float]) -> Axis:
    """Return limits close around these ratings, rounded so that the scale seldom moves."""
    limits = ratings or [0.0, 2 * MU]
    # A hair above a round step still gets it: rounding must not double the scale.
    step = find_round_step(0.999 * (max(limits) - min(limits)) / (_N_TICKS - 1))
    part = step / _N_PARTS
    low, high = floor(min(limits) / part) * part, ceil(max(limits) / part) * part
    high = max(high, low + step)
    marks = range(ceil(low / step - _ROUNDING), floor(high / step + _ROUNDING) + 1)
    ticks: list[Tick] = [{"at": n * step, "label": f"{n * step:g}"} for n in marks]
    return {"low": low, "high": high, "step": step, "ticks": ticks}


def find_round_step(finest: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is not below; 1 for nothing."""
    if finest <= 0:
        return 1.0
    power = float(10 ** floor(log10(finest)))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= finest)
