"""Ratings of agents over time, each a line within the band of its 95 % interval."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from matches.ratings import axes
from pages.plots import settling
from pages.plots.charts import (
    BOTTOM,
    MIN_POINTS,
    Scale,
    Tick,
    TimeAxis,
    join_points,
    spread_labels,
)

HEIGHT = 300


class RatedMoment(NamedTuple):
    """A rating at a moment, with its doubt and the ends of its interval."""

    at: datetime
    mu: float
    sd: float
    low: float
    high: float


class Moment(NamedTuple):
    """The ratings by agent at a moment."""

    taken_at: datetime
    ratings: dict[int, RatedMoment]


class Curve(NamedTuple):
    """One agent: line and band as points of a polygon, percent across and pixels down."""

    name: str
    line: str
    band: str
    label_at: float


class Drawing(NamedTuple):
    """Curves on one scale; unsettled: the names of agents whose ratings cannot be drawn yet."""

    curves: list[Curve]
    unsettled: list[str]
    times: list[Tick]
    ratings: list[Tick]
    height: int = HEIGHT

    @property
    def is_early(self) -> bool:
        """Return True where words stand instead of curves."""
        return not self.curves


def draw_curves(
    moments: Sequence[Moment], names: Mapping[int, str], *, height: int = HEIGHT
) -> Drawing:
    """Return the curves of these agents, each from where its interval has settled."""
    settled = {agent: list_settled(moments, agent) for agent in names}
    drawn_ratings = {agent: rated for agent, rated in settled.items() if len(rated) >= MIN_POINTS}
    unsettled = [name for agent, name in names.items() if agent not in drawn_ratings]
    if not drawn_ratings:
        return Drawing([], unsettled, [], [], height)
    first = min(rated[0].at for rated in drawn_ratings.values())
    times = TimeAxis(first, max(rated[-1].at for rated in drawn_ratings.values()))
    # A rating lies within its interval, so the ends hold all that is drawn.
    ends = [
        end
        for rated in drawn_ratings.values()
        for rating in rated
        for end in (rating.low, rating.high)
    ]
    axis = axes.fit_axis_to(ends)
    scale = Scale(axis["low"], axis["high"], height=height)
    # Highest first, as labels are spread downwards.
    by_height = sorted(drawn_ratings, key=lambda agent: -drawn_ratings[agent][-1].mu)
    heights = [scale.place(drawn_ratings[agent][-1].mu) for agent in by_height]
    label_at = dict(zip(by_height, spread_labels(heights, lowest=height - BOTTOM), strict=True))
    return Drawing(
        [
            _draw_curve(names[agent], drawn_ratings[agent], times, scale, label_at[agent])
            for agent in drawn_ratings
        ],
        unsettled,
        times.list_ticks(),
        [Tick(scale.place(tick["at"]), tick["label"]) for tick in axis["ticks"]],
        height,
    )


def list_settled(moments: Sequence[Moment], agent: int) -> list[RatedMoment]:
    """Return the ratings of an agent since its interval has settled."""
    # An agent that entered later begins where it is first known.
    ratings = [moment.ratings[agent] for moment in moments if agent in moment.ratings]
    return ratings[settling.find_start([rated.sd for rated in ratings]) :]


def _draw_curve(
    name: str, rated: Sequence[RatedMoment], times: TimeAxis, scale: Scale, label_at: float
) -> Curve:
    across = [times.place(rating.at) for rating in rated]
    line = [(x, scale.place(rating.mu)) for x, rating in zip(across, rated, strict=True)]
    upper = [(x, scale.place(rating.high)) for x, rating in zip(across, rated, strict=True)]
    lower = [(x, scale.place(rating.low)) for x, rating in zip(across, rated, strict=True)]
    return Curve(name, join_points(line), join_points([*upper, *reversed(lower)]), label_at)
