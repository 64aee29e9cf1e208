"""The rating of an agent over time, to be drawn: from snapshots spread evenly over the time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from arena.ratings.base import Z95
from matches.models import Leaderboard
from pages.board_history import read_moments
from pages.charts import Scale, Tick, join_points

WIDTH, HEIGHT = 1_000, 220
TOP, BOTTOM = 14, 14
MIN_POINTS = 2
MAX_POINTS = 60
# Compressed snapshots that are read for one page: of large boards fewer are taken.
BUDGET_BYTES = 5_000_000
FEWEST = 12
_N_TICKS = 3


class Point(NamedTuple):
    """A rating at a moment, with the ends of its 95 % interval."""

    taken_at: datetime
    mu: float
    low: float
    high: float


class History(NamedTuple):
    """The line and band as paths of a drawing of WIDTH x HEIGHT, and the same as numbers."""

    points: list[Point]
    line: str
    band: str
    ticks: list[Tick]
    width: int = WIDTH
    height: int = HEIGHT


def draw_agent(board: Leaderboard, agent: int) -> History | None:
    """Return the history of an agent on a leaderboard, None before it has two points.

    Four queries at most, however long the history: the snapshots that are read are found by time.
    """

    def space_evenly(start: datetime, end: datetime, n_points: int) -> list[datetime]:
        # The end itself last: the sum of the steps may fall short of it by rounding.
        return [start + (end - start) * n / (n_points - 1) for n in range(n_points - 1)] + [end]

    moments = read_moments(board, [agent], space_evenly, MAX_POINTS, FEWEST, BUDGET_BYTES)
    points = []
    for moment in moments:
        # Snapshots from before the agent entered have no row of it.
        if agent in moment.ratings:
            mu, sd = moment.ratings[agent]
            points.append(Point(moment.taken_at, mu, mu - Z95 * sd, mu + Z95 * sd))
    return _draw_points(points) if len(points) >= MIN_POINTS else None


def _draw_points(points: Sequence[Point]) -> History:
    last = points[-1]
    # All ratings and the last interval. The first intervals are as wide as the prior; they are cut
    # off, or the curve would be flat.
    ratings = [point.mu for point in points]
    low, high = min(*ratings, last.low), max(*ratings, last.high)
    place = Scale(low, high, height=HEIGHT, top=TOP, bottom=BOTTOM).place
    first, span_s = points[0].taken_at, (last.taken_at - points[0].taken_at).total_seconds()
    across = [
        round(WIDTH * (point.taken_at - first).total_seconds() / (span_s or 1), 1)
        for point in points
    ]
    upper = [(x, place(point.high)) for x, point in zip(across, points, strict=True)]
    lower = [(x, place(point.low)) for x, point in zip(across, points, strict=True)]
    marks = [low + (high - low) * n / (_N_TICKS - 1) for n in range(_N_TICKS)]
    return History(
        points=list(points),
        line=f"M{join_points(zip(across, map(place, ratings), strict=True))}",
        band=f"M{join_points([*upper, *reversed(lower)])}Z",
        ticks=[Tick(place(mark), f"{mark:.1f}") for mark in marks],
    )
