"""What every chart is drawn with: scales, round marks, lines, labels that stand apart.

Heights are pixels and everything across is percent, so that one drawing fits every width while its
text keeps its size.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil, floor
from typing import NamedTuple, TypeVar

from matches.ratings.axes import find_round_step

# Where the first and the last value of the axis stand, in percent.
LEFT, RIGHT = 9.0, 96.0
# Pixels above and below all that is drawn.
TOP, BOTTOM = 16, 30
LABEL_GAP = 16
MIN_POINTS = 3
"""Below so many points words stand instead of a diagram: it is too early to draw."""
MAX_DOTS = 60
"""More points than these are a line without a dot at each: they would run into each other."""
N_MARKS = 5
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_TIME_STEPS = (
    *(timedelta(seconds=n) for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MINUTE for n in (1, 2, 5, 10, 15, 30)),
    *(n * _HOUR for n in (1, 2, 3, 6, 12)),
    *(n * _DAY for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
)
T = TypeVar("T")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# What a sum of steps may miss a mark by, in steps.
_ROUNDING = 1e-9


class Tick(NamedTuple):
    """A mark of an axis: percent across or pixels down, and its label."""

    at: float
    label: str


class Scale:
    """Where values stand from top to bottom of a drawing, in pixels."""

    def __init__(
        self, low: float, high: float, *, height: int, top: int = TOP, bottom: int = BOTTOM
    ) -> None:
        self._low, self._high = low, high
        self._top, self._pixels = top, height - top - bottom

    def place(self, value: float) -> float:
        """Return the pixels from the upper edge."""
        # A rating that never changed has no range: it stands at the top.
        share = (self._high - value) / ((self._high - self._low) or 1)
        return round(self._top + self._pixels * share, 1)

    def list_ticks(self, n_most: int = N_MARKS) -> list[Tick]:
        """Return round marks, the lowest first."""
        marks = list_round(self._low, self._high, n_most)
        return [Tick(self.place(mark), f"{mark:,.10g}") for mark in marks]


class TimeAxis:
    """Where moments stand from left to right, in percent."""

    def __init__(self, first: datetime, last: datetime) -> None:
        self._first, self._last = first, max(last, first + timedelta(seconds=1))

    def place(self, moment: datetime) -> float:
        """Return percent."""
        return place_across((moment - self._first) / (self._last - self._first))

    def list_ticks(self) -> list[Tick]:
        """Return marks at round seconds, minutes, hours or days of UTC; a new day by its date."""
        span = self._last - self._first
        step = next((step for step in _TIME_STEPS if span / step < N_MARKS), _TIME_STEPS[-1])
        at = _EPOCH + step * ceil((self._first - _EPOCH) / step)
        ticks = []
        while at <= self._last:
            ticks.append(Tick(self.place(at), _label_moment(at, step)))
            at += step
        return ticks


def list_round(low: float, high: float, n_most: int = N_MARKS) -> list[float]:
    """Return the marks from low to high at 1, 2 or 5 times a power of ten; n_most or one more."""
    step = find_round_step((high - low) / n_most)
    marks = range(ceil(low / step - _ROUNDING), floor(high / step + _ROUNDING) + 1)
    # Through its text: 3 x 0.1 is not 0.3.
    return [float(f"{n * step:.12g}") for n in marks]


def place_across(share: float) -> float:
    """Return the percent at which a share of the axis, 0 to 1, ends."""
    return round(LEFT + (RIGHT - LEFT) * share, 2)


def join_points(points: Iterable[tuple[float, float]]) -> str:
    """Return points as SVG writes those of a line or an area."""
    return " ".join(f"{x},{y}" for x, y in points)


def spread_labels(heights: Sequence[float], *, lowest: float) -> list[float]:
    """Return where labels stand, none over another and none below `lowest`; highest first."""
    placed: list[float] = []
    for at in heights:
        placed.append(max(at, placed[-1] + LABEL_GAP) if placed else at)
    excess = max(0.0, placed[-1] - lowest) if placed else 0.0
    return [round(at - excess, 1) for at in placed]


def thin_out(values: Sequence[T], n_most: int) -> list[T]:
    """Return so many of the values at most, evenly spaced, the first and the last among them."""
    if len(values) <= n_most:
        return list(values)
    last = len(values) - 1
    return [values[round(n * last / (n_most - 1))] for n in range(n_most)]


def _label_moment(at: datetime, step: timedelta) -> str:
    if step >= _DAY or not (at - _EPOCH) % _DAY:
        return f"{at:%d %b}"
    return f"{at:%H:%M}" if step >= _MINUTE else f"{at:%H:%M:%S}"
