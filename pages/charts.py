"""What every chart is drawn with: scales, marks of an axis, lines, labels that stand apart.

Heights are pixels and everything across is percent, so that one drawing fits every width while its
text keeps its size.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

# Where the first and the last value of the axis stand, in percent.
LEFT, RIGHT = 9.0, 96.0
# Pixels above and below all that is drawn.
TOP, BOTTOM = 16, 30
LABEL_GAP = 16
N_TIME_TICKS = 4
_BRIEF, _SHORT = timedelta(minutes=5), timedelta(hours=36)


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


class TimeAxis:
    """Where moments stand from left to right, in percent."""

    def __init__(self, first: datetime, last: datetime) -> None:
        self._first, self._span = first, max(last - first, timedelta(seconds=1))

    def place(self, moment: datetime) -> float:
        """Return percent."""
        return place_across((moment - self._first) / self._span)

    def list_ticks(self) -> list[Tick]:
        """Return evenly spaced marks with the time of day: with seconds, or with the date alone."""
        # A day of the month alone would stand four times where the span is a few hours.
        form = "%H:%M:%S" if self._span < _BRIEF else "%H:%M" if self._span < _SHORT else "%d %b"
        moments = [self._first + self._span * n / (N_TIME_TICKS - 1) for n in range(N_TIME_TICKS)]
        return [Tick(self.place(at), at.astimezone(UTC).strftime(form)) for at in moments]


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
