"""The differences of two agents' scores on equal seeds, drawn as a histogram."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from matches.ratings.axes import find_round_step
from matches.store.formats import format_number
from pages.plots.charts import Tick

HEIGHT = 150
_BASE, _TOP = 122, 20
N_BARS = 17
_MOST_LABELS = 7


class Bar(NamedTuple):
    """So many seeds whose difference lies about a value; percent across, pixels down."""

    x: float
    y: float
    height: float
    kind: str
    title: str


class Histogram(NamedTuple):
    """How many seeds have which difference."""

    bars: list[Bar]
    marks: list[Tick]
    width: float
    most: int
    height: int = HEIGHT
    base: int = _BASE
    top: int = _TOP


def draw_histogram(leads: Sequence[float]) -> Histogram | None:
    """Return the histogram of differences about 0, None where there is nothing to draw."""
    if not leads:
        return None
    step = find_round_step((max(0.0, *leads) - min(0.0, *leads)) / N_BARS)
    if all(lead == int(lead) for lead in leads):
        step = max(1.0, step)
    # Bars stand about multiples of the step, so that none holds both leads and lags.
    counts = Counter(round(lead / step) for lead in leads)
    first, last = min(0, *counts), max(0, *counts)
    width = 100 / (last - first + 1)
    most = max(counts.values())
    bars = []
    for place in sorted(counts):
        height = round((_BASE - _TOP) * counts[place] / most, 1)
        kind = "ahead" if place > 0 else "behind" if place < 0 else "level"
        title = f"{_format_lead(place * step)}: {counts[place]:,} of {len(leads):,} seeds"
        x = round(width * (place - first) + width / 10, 2)
        bars.append(Bar(x, _BASE - height, height, kind, title))
    every = -(-(last - first + 1) // _MOST_LABELS)
    marks = [
        Tick(round(width * (place - first + 0.5), 2), _format_lead(place * step))
        for place in range(first, last + 1)
        if place % every == 0
    ]
    return Histogram(bars, marks, round(0.8 * width, 2), most)


def _format_lead(lead: float) -> str:
    """Return a difference with its sign, as short as it can be."""
    number = format_number(lead, 0) if lead == int(lead) else f"{lead:.6g}"
    return f"+{number}" if lead > 0 else number
