"""Ratings over time and matches per second of a board, from its snapshots, to be drawn.

Snapshots are found by time, a bounded number of them, however long the history is.
"""

from collections.abc import Callable, Sequence
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
# Of large boards fewer snapshots are read: so many compressed bytes for a page.
FEWEST, BUDGET_BYTES = 8, 3_000_000
SHOWN_RATES = timedelta(hours=1)
N_RATES = 60
_MINUTE_S = 60


class Moment(NamedTuple):
    """The ratings (mu, sd) by agent at a moment."""

    taken_at: datetime
    ratings: dict[int, tuple[float, float]]


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
    agents = sorted(row["agent"] for row in top)
    moments = read_moments(board, agents, space_round, N_MOMENTS, FEWEST, BUDGET_BYTES)
    if len(moments) < MIN_MOMENTS or not top:
        return None
    times = TimeAxis(moments[0].taken_at, moments[-1].taken_at)
    # All ratings and the last intervals. The first intervals are as wide as the prior; they are cut
    # off, or all curves would be flat.
    limits = [mu for moment in moments for mu, _ in moment.ratings.values()]
    limits += [float(end) for row in top for end in (row["low"], row["high"])]
    axis = standings.fit_axis_to(limits)
    ratings = Scale(axis["low"], axis["high"], height=HEIGHT)
    heights = [ratings.place(float(row["mu"])) for row in top]
    labels = spread_labels(heights, lowest=HEIGHT - BOTTOM)
    return History(
        curves=[
            _draw_curve(row, moments, times, ratings, label_at)
            for row, label_at in zip(top, labels, strict=True)
        ],
        times=times.list_ticks(),
        ratings=[Tick(ratings.place(tick["at"]), tick["label"]) for tick in axis["ticks"]],
        table=[
            (
                moment.taken_at,
                [
                    f"{rating[0]:.2f} ± {Z95 * rating[1]:.2f}" if rating else "not on it yet"
                    for rating in (moment.ratings.get(row["agent"]) for row in top)
                ],
            )
            for moment in moments
        ],
    )


def draw_rates(board: Leaderboard) -> Rates | None:
    """Return how fast matches were counted lately, None before there are two moments. One query."""
    if board.rated_at is None:
        return None
    since = Q(leaderboard=board, taken_at__gte=board.rated_at - SHOWN_RATES)
    newest = RatingSnapshot.objects.filter(since).order_by("-taken_at")
    # Every snapshot says how many outcomes it counts, so no outcome is counted here.
    counts = list(newest.values_list("taken_at", "n_outcomes")[:N_RATES])[::-1]
    if len(counts) < MIN_MOMENTS:
        return None
    times = TimeAxis(counts[0][0], counts[-1][0])
    spans = []
    for (start, n_before), (end, n_after) in pairwise(counts):
        # With a new season the count begins again.
        n_counted = max(0, n_after - n_before)
        spans.append((start, end, n_counted / max((end - start).total_seconds(), 1.0)))
    highest = max(rate for _, _, rate in spans)
    bars = []
    for start, end, rate in spans:
        height = round((RATE_HEIGHT - TOP - BOTTOM) * rate / (highest or 1.0), 1)
        x, width = times.place(start), round(times.place(end) - times.place(start), 2)
        y = round(RATE_HEIGHT - BOTTOM - height, 1)
        span = f"{start.astimezone(UTC):%H:%M} to {end.astimezone(UTC):%H:%M}"
        title = f"{span}: {rate:,.1f} matches/s"
        # A gap between bars, but no bar so thin that it cannot be seen.
        bars.append(Bar(x, max(width - 0.15, 0.1), y, height, title))
    return Rates(bars, f"{highest:,.1f}", times.list_ticks())


def read_moments(
    board: Leaderboard,
    agents: Sequence[int],
    space_out: Callable[[datetime, datetime, int], list[datetime]],
    n_most: int,
    fewest: int,
    budget_bytes: int,
) -> list[Moment]:
    """Return the ratings of the agents at the snapshots next to moments spread over the history.

    Four queries, however long the history is: snapshots are found by time. Of large boards fewer
    are read, so many that they hold `budget_bytes`, but not fewer than `fewest`.
    """
    taken = RatingSnapshot.objects.filter(leaderboard=board)
    ends = taken.annotate(size=Length("table")).values_list("taken_at", "size")
    # Two queries: one with MIN and MAX would walk the index of the history from end to end.
    first, last = ends.order_by("taken_at").first(), ends.order_by("-taken_at").first()
    if first is None or last is None:
        return []
    n_moments = max(fewest, min(n_most, budget_bytes // last[1]))
    newest = taken.order_by("-taken_at").values("pk")
    moments = space_out(first[0], last[0], n_moments)
    nearest = [Subquery(newest.filter(taken_at__lte=moment)[:1]) for moment in moments]
    chosen = RatingSnapshot.objects.filter(pk__in=nearest)  # type: ignore[misc]  # not for types
    # Their tables are large: `read_rows` reads only those that it does not remember.
    snapshots = list(chosen.defer("table").order_by("taken_at"))
    tables = snapshot_tables.read_rows(snapshots, agents)
    return [
        Moment(snapshot.taken_at, {agent: (row[1], row[2]) for agent, row in rows.items()})
        for snapshot, rows in zip(snapshots, tables, strict=True)
    ]


def space_round(first: datetime, last: datetime, n_most: int = N_MOMENTS) -> list[datetime]:
    """Return the ends and round moments between, the same ones while the history grows."""
    minutes = 1
    while (last - first) > timedelta(minutes=minutes) * (n_most - 2):
        minutes *= 2
    step_s = minutes * _MINUTE_S
    from_s, until_s = int(first.timestamp()) // step_s + 1, int(last.timestamp()) // step_s
    between = [datetime.fromtimestamp(n * step_s, UTC) for n in range(from_s, until_s + 1)]
    return [first, *between, last]


def _draw_curve(
    row: Row, moments: Sequence[Moment], times: TimeAxis, ratings: Scale, label_at: float
) -> Curve:
    agent = row["agent"]
    line, upper, lower = [], [], []
    # An agent that entered later begins where it is first known.
    for moment in moments:
        if agent in moment.ratings:
            x, (mu, sd) = times.place(moment.taken_at), moment.ratings[agent]
            line.append((x, ratings.place(mu)))
            upper.append((x, ratings.place(mu + Z95 * sd)))
            lower.append((x, ratings.place(mu - Z95 * sd)))
    return Curve(row, join_points(line), join_points([*upper, *reversed(lower)]), label_at)
