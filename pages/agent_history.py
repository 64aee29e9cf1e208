"""The rating of an agent over time, to be drawn: from snapshots spread evenly over the time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet, Subquery
from django.db.models.functions import Length

from arena.ratings.base import Z95
from matches.models import Leaderboard, RatingSnapshot
from matches.store import snapshot_tables
from pages.charts import Scale, Tick, join_points

WIDTH, HEIGHT = 1_000, 220
TOP, BOTTOM = 14, 14
MIN_POINTS = 2
MAX_POINTS = 60
BUDGET_BYTES = 5_000_000
"""Compressed snapshots that are read for one page: of large boards fewer are taken."""
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
    taken = RatingSnapshot.objects.filter(leaderboard=board)
    spread = RatingSnapshot.objects.filter(pk__in=_spread(board, taken))
    chosen = list(spread.defer("table").order_by("taken_at"))
    rows = [known.get(agent) for known in snapshot_tables.read_rows(chosen, [agent])]
    points = [
        _point(snapshot.taken_at, row) for snapshot, row in zip(chosen, rows, strict=True) if row
    ]
    return _drawn(points) if len(points) >= MIN_POINTS else None


def _spread(board: Leaderboard, taken: QuerySet[RatingSnapshot]) -> list[int]:
    """Return the snapshots next to evenly spaced moments between the first and the last one."""
    newest = taken.order_by("-taken_at").annotate(size=Length("table"))
    first = taken.order_by("taken_at").values("taken_at")[:1]
    ends = newest.annotate(first=Subquery(first)).values_list("first", "taken_at", "size").first()
    if ends is None:
        return []
    start, end, size = ends
    n_points = max(FEWEST, min(MAX_POINTS, BUDGET_BYTES // size))
    moments = [start + (end - start) * n / (n_points - 1) for n in range(n_points - 1)] + [end]
    nearest = [
        Subquery(taken.filter(taken_at__lte=moment).order_by("-taken_at").values("pk")[:1])
        for moment in moments
    ]
    found = Leaderboard.objects.filter(pk=board.pk).values_list(*nearest).get()
    return sorted({pk for pk in found if pk is not None})


def _point(taken_at: datetime, row: Sequence[float]) -> Point:
    mu, half = row[1], Z95 * row[2]
    return Point(taken_at, mu, mu - half, mu + half)


def _drawn(points: Sequence[Point]) -> History:
    low, high = _limits(points)
    place = Scale(low, high, height=HEIGHT, top=TOP, bottom=BOTTOM).place
    placed = [(_across(point.taken_at, points), point) for point in points]
    upper = [(x, place(point.high)) for x, point in placed]
    lower = [(x, place(point.low)) for x, point in reversed(placed)]
    marks = [low + (high - low) * n / (_N_TICKS - 1) for n in range(_N_TICKS)]
    return History(
        points=list(points),
        line=f"M{join_points((x, place(point.mu)) for x, point in placed)}",
        band=f"M{join_points([*upper, *lower])}Z",
        ticks=[Tick(place(mark), f"{mark:.1f}") for mark in marks],
    )


def _limits(points: Sequence[Point]) -> tuple[float, float]:
    """Return what the scale must hold: all ratings and the last interval.

    The first intervals are as wide as the prior; they are cut off, or the rest would be flat.
    """
    last = points[-1]
    ratings = [point.mu for point in points]
    return min(*ratings, last.low), max(*ratings, last.high)


def _across(moment: datetime, points: Sequence[Point]) -> float:
    whole = (points[-1].taken_at - points[0].taken_at).total_seconds() or 1
    return round(WIDTH * (moment - points[0].taken_at).total_seconds() / whole, 1)
