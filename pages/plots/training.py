"""What a training run came to, by the steps it has learned from, to be drawn.

Returns of training are a line within the band of their 95 % interval; what the leaderboard says of
versions that were judged are points with intervals of their own.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

from scipy.special import stdtrit

from matches.ratings import axes
from pages.plots.charts import (
    BOTTOM,
    MIN_POINTS,
    Scale,
    Tick,
    join_points,
    list_round,
    place_across,
    spread_labels,
)
from pages.plots.steps import shorten_step

HEIGHT: Final = 300
LAG_HEIGHT: Final = 150
N_PARTS: Final = 24
"""Into so many equal parts the steps are divided: of few episodes a mean says little."""
_UPPER: Final = 0.975


class MeasuredMean(NamedTuple):
    """What was measured until a step: the mean of n values, sd their standard deviation.

    sd: None where it is not known, as of one value.
    """

    step: int
    mean: float
    sd: float | None
    n: float


class Part(NamedTuple):
    """The mean over some steps, from first to last; low, high: its 95 % interval, if known."""

    first: int
    last: int
    mean: float
    low: float | None
    high: float | None
    n: float


class JudgedVersion(NamedTuple):
    """A version on its leaderboard: its agent, and how strong it is, with a 95 % interval."""

    agent: int
    name: str
    step: int
    value: float
    low: float
    high: float


class Drawing(NamedTuple):
    """A line with its band, points, and what they are read against."""

    line: str
    band: str
    points: list[dict[str, Any]]
    levels: list[Tick]
    steps: list[Tick]
    labels: list[tuple[int, str, float]]
    height: int


def pool(measured: Sequence[MeasuredMean]) -> list[Part]:
    """Return the means over parts of all steps that are equally long; those with nothing lack."""
    if not measured:
        return []
    length = max(1, -(-(max(one.step for one in measured) + 1) // N_PARTS))
    groups: dict[int, list[MeasuredMean]] = {}
    for measure in measured:
        groups.setdefault(measure.step // length, []).append(measure)
    return [_pool_part(groups[place]) for place in sorted(groups)]


def _pool_part(group: Sequence[MeasuredMean]) -> Part:
    n = sum(measure.n for measure in group)
    mean = sum(measure.n * measure.mean for measure in group) / n
    steps = [measure.step for measure in group]
    low = high = None
    if n > 1 and all(measure.sd is not None or measure.n <= 1 for measure in group):
        within = sum((measure.n - 1) * (measure.sd or 0.0) ** 2 for measure in group)
        between = sum(measure.n * (measure.mean - mean) ** 2 for measure in group)
        # Student's: of three episodes two standard errors would be too little.
        reach = float(stdtrit(n - 1, _UPPER)) * sqrt((within + between) / (n - 1) / n)
        low, high = mean - reach, mean + reach
    return Part(min(steps), max(steps), mean, low, high, n)


def draw(
    parts: Sequence[Part],
    judged: Sequence[JudgedVersion] = (),
    *,
    n_steps: int,
    names: tuple[str, str] = ("", ""),
    height: int = HEIGHT,
) -> Drawing | None:
    """Return the drawing, None where it is too early. names: of the line and of the points."""
    drawn = parts if len(parts) >= MIN_POINTS else []
    if not drawn and len(judged) < MIN_POINTS:
        return None
    intervals = [(_fill_in_mean(part.low, part), _fill_in_mean(part.high, part)) for part in drawn]
    intervals += [(strength.low, strength.high) for strength in judged]
    # Of the few widest a part is cut off: two episodes alone would flatten all others.
    axis = axes.fit_axis_to_intervals(intervals)
    scale = Scale(axis["low"], axis["high"], height=height)
    most = max(
        [n_steps, *(part.last for part in parts), *(strength.step for strength in judged), 1]
    )

    def across(step: float) -> float:
        return place_across(step / most)

    line = [(across(part.last), scale.place(part.mean)) for part in drawn]
    upper = [(across(part.last), scale.place(_fill_in_mean(part.high, part))) for part in drawn]
    lower = [(across(part.last), scale.place(_fill_in_mean(part.low, part))) for part in drawn]
    points = [_make_point(strength, across(strength.step), scale) for strength in judged]
    return Drawing(
        join_points(line),
        join_points([*upper, *reversed(lower)])
        if any(part.low is not None for part in drawn)
        else "",
        points,
        [Tick(scale.place(tick["at"]), tick["label"]) for tick in axis["ticks"]],
        [Tick(across(mark), shorten_step(int(mark))) for mark in list_round(0, most)],
        _place_labels(names, [row[-1][1] for row in (line,) if row], points, height),
        height,
    )


def _fill_in_mean(end: float | None, part: Part) -> float:
    return part.mean if end is None else end


def _make_point(judged: JudgedVersion, x: float, scale: Scale) -> dict[str, Any]:
    value, low, high = (f"{number:.6g}" for number in (judged.value, judged.low, judged.high))
    return {
        "agent": judged.agent,
        "step": judged.step,
        "title": f"{judged.name}: {value}, {low} to {high}",
        "x": x,
        "y": scale.place(judged.value),
        "y_low": scale.place(judged.low),
        "y_high": scale.place(judged.high),
    }


def _place_labels(
    names: tuple[str, str],
    line_ends: Sequence[float],
    points: Sequence[dict[str, Any]],
    height: int,
) -> list[tuple[int, str, float]]:
    """Return colour, name and height of what is named at the right of a drawing."""
    ends = [(1, names[0], at) for at in line_ends] + [
        (2, names[1], point["y"]) for point in points[-1:]
    ]
    labelled_ends = sorted((end for end in ends if end[1]), key=lambda end: end[2])
    heights = spread_labels([end[2] for end in labelled_ends], lowest=height - BOTTOM)
    return [(end[0], end[1], at) for end, at in zip(labelled_ends, heights, strict=True)]
