"""Ratings over time and matches per second of a board, from its snapshots, to be drawn.

Snapshots are found by time, a bounded number of them, however long the history is.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from django.db.models import Q, Subquery
from django.db.models.functions import Length

from arena.ratings.base import Z95
from matches.models import Leaderboard, RatingSnapshot
from matches.ratings import standings
from matches.ratings.standings import Row
from matches.store import snapshot_tables
from pages.charts import BOTTOM, TOP, Scale, Tick, TimeAxis, join_points, spread_labels

HEIGHT = 300
RATE_HEIGHT = 120
N_AGENTS = 6
N_MOMENTS = 24
MIN_MOMENTS = 2
FEWEST, BUDGET_BYTES = 8, 3_000_000
"""Of large boards fewer snapshots are read: so many compressed bytes for a page."""
SHOWN_RATES = timedelta(hours=1)
N_RATES = 60
_MINUTE_S = 60

Known = dict[int, tuple[float, float]]


class Moment(NamedTuple):
    """The ratings (mu, sd) by agent at a moment."""

    taken_at: datetime
    known: Known


class Curve(NamedTuple):
    """One agent: line and band as points of a polygon, percent across and pixels down."""

    row: Row
    line: str
    band: str
    label_at: float


class History(NamedTuple):
    """The curves of the top agents, and the same as a table."""

    curves: list[Curve]
    times: list[Tick]
    ratings: list[Tick]
    table: list[tuple[datetime, list[str]]]
    height: int = HEIGHT


class Bar(NamedTuple):
    """The mean rate between two snapshots."""

    x: float
    width: float
    y: float
    height: float
    title: str


class Rates(NamedTuple):
    """Matches per second over the last hour before the last rating."""

    bars: list[Bar]
    highest: str
    times: list[Tick]
    height: int = RATE_HEIGHT
    top: int = TOP
    floor: int = RATE_HEIGHT - BOTTOM


def draw_history(board: Leaderboard, rows: Sequence[Row]) -> History | None:
    """Return the curves of the first rows, None before there are two moments.

    Four queries at most, however long the history.
    """
    top = rows[:N_AGENTS]
    moments = _moments(board, sorted(row["agent"] for row in top))
    if len(moments) < MIN_MOMENTS or not top:
        return None
    times = TimeAxis(moments[0].taken_at, moments[-1].taken_at)
    axis = standings.fit_axis_to(_limits(moments, top))
    ratings = Scale(axis["low"], axis["high"], height=HEIGHT)
    lines = [_points(row["agent"], moments, times) for row in top]
    heights = [ratings.place(float(row["mu"])) for row in top]
    labels = spread_labels(heights, lowest=HEIGHT - BOTTOM)
    return History(
        curves=[
            Curve(
                row,
                join_points((x, ratings.place(mu)) for x, mu, _ in points),
                join_points((x, ratings.place(rating)) for x, rating in _band(points)),
                at,
            )
            for row, points, at in zip(top, lines, labels, strict=True)
        ],
        times=times.ticks(),
        ratings=[Tick(ratings.place(tick["at"]), tick["label"]) for tick in axis["ticks"]],
        table=[(m.taken_at, [_cell(m.known.get(row["agent"])) for row in top]) for m in moments],
    )


def draw_rates(board: Leaderboard) -> Rates | None:
    """Return how fast matches were counted lately, None before there are two moments. One query.

    Every snapshot says how many outcomes it counts, so no outcome is counted here.
    """
    if board.rated_at is None:
        return None
    since = Q(leaderboard=board, taken_at__gte=board.rated_at - SHOWN_RATES)
    newest = RatingSnapshot.objects.filter(since).order_by("-taken_at")
    seen = list(newest.values_list("taken_at", "n_outcomes")[:N_RATES])[::-1]
    if len(seen) < MIN_MOMENTS:
        return None
    times = TimeAxis(seen[0][0], seen[-1][0])
    # With a new season the count begins again.
    spans = [(a, b, _per_s(a, b, max(0, n - m))) for (a, m), (b, n) in pairwise(seen)]
    highest = max(rate for _, _, rate in spans)
    bars = [_bar(span, times, highest or 1.0) for span in spans]
    return Rates(bars, f"{highest:,.1f}", times.ticks())


def _moments(board: Leaderboard, agents: Sequence[int]) -> list[Moment]:
    """Return what is known of the agents at moments spread over the history."""
    taken = RatingSnapshot.objects.filter(leaderboard=board)
    ends = taken.annotate(size=Length("table")).values_list("taken_at", "size")
    first, last = ends.order_by("taken_at").first(), ends.order_by("-taken_at").first()
    if first is None or last is None:
        return []
    n_most = max(FEWEST, min(N_MOMENTS, BUDGET_BYTES // last[1]))
    newest = taken.order_by("-taken_at").values("pk")
    moments = _spread(first[0], last[0], n_most)
    chosen = [Subquery(newest.filter(taken_at__lte=at)[:1]) for at in moments]
    at_those = RatingSnapshot.objects.filter(pk__in=chosen)  # type: ignore[misc]  # not for types
    found = list(at_those.defer("table").order_by("taken_at"))
    return [
        Moment(shot.taken_at, {agent: (row[1], row[2]) for agent, row in rows.items()})
        for shot, rows in zip(found, snapshot_tables.read_rows(found, agents), strict=True)
    ]


def _spread(first: datetime, last: datetime, n_most: int = N_MOMENTS) -> list[datetime]:
    """Return the ends and round moments between, the same ones while the history grows."""
    minutes = 1
    while (last - first) > timedelta(minutes=minutes) * (n_most - 2):
        minutes *= 2
    step_s = minutes * _MINUTE_S
    from_s, until_s = int(first.timestamp()) // step_s + 1, int(last.timestamp()) // step_s
    between = [datetime.fromtimestamp(n * step_s, UTC) for n in range(from_s, until_s + 1)]
    return [first, *between, last]


def _limits(moments: Sequence[Moment], top: Sequence[Row]) -> list[float]:
    """Return what the scale must hold: all ratings and the last intervals.

    The first intervals are as wide as the prior; they are cut off, or the rest would be flat.
    """
    ratings = [mu for moment in moments for mu, _ in moment.known.values()]
    return ratings + [float(end) for row in top for end in (row["low"], row["high"])]


def _points(
    agent: int, moments: Sequence[Moment], times: TimeAxis
) -> list[tuple[float, float, float]]:
    """Return percent across, mu and half the interval of an agent where it is known."""
    known = [(times.place(m.taken_at), m.known[agent]) for m in moments if agent in m.known]
    return [(x, mu, Z95 * sd) for x, (mu, sd) in known]


def _band(points: Sequence[tuple[float, float, float]]) -> list[tuple[float, float]]:
    upper = [(x, mu + half) for x, mu, half in points]
    return upper + [(x, mu - half) for x, mu, half in reversed(points)]


def _cell(known: tuple[float, float] | None) -> str:
    return f"{known[0]:.2f} ± {Z95 * known[1]:.2f}" if known else "not on it yet"


def _per_s(start: datetime, end: datetime, n: int) -> float:
    return max(n, 0) / max((end - start).total_seconds(), 1.0)


def _bar(span: tuple[datetime, datetime, float], axis: TimeAxis, highest: float) -> Bar:
    start, end, rate = span
    tall = round((RATE_HEIGHT - TOP - BOTTOM) * rate / highest, 1)
    x, width = axis.place(start), round(axis.place(end) - axis.place(start), 2)
    y = round(RATE_HEIGHT - BOTTOM - tall, 1)
    times = f"{start.astimezone(UTC):%H:%M} to {end.astimezone(UTC):%H:%M}"
    return Bar(x, max(width - 0.15, 0.1), y, tall, f"{times}: {rate:,.1f} matches/s")
