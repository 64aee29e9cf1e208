"""Ratings over time and matches per second of a board, from its snapshots, to be drawn.

Snapshots are found by time, a bounded number of them, however long the history is.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from django.db.models import Subquery
from django.db.models.functions import Length

from matches.models import Leaderboard, RatingSnapshot
from matches.ratings.snapshots import list_comparable, list_snapshots
from matches.ratings.standings import Row
from matches.store import snapshot_tables
from pages.plots.charts import BOTTOM, MIN_POINTS, Scale, Tick, TimeAxis
from pages.plots.curves import Drawing, Moment, RatedMoment, draw_curves

RATE_HEIGHT = 120
N_AGENTS = 6
N_MOMENTS = 24
MIN_MOMENTS = 2
# Of large boards fewer snapshots are read: so many compressed bytes for a page.
FEWEST, BUDGET_BYTES = 8, 3_000_000
SHOWN_RATES = timedelta(hours=1)
N_RATES = 60
N_RATE_MARKS = 3
_MINUTE_S = 60


class History(NamedTuple):
    """The curves of the top agents, and all that is known of them as a table."""

    drawing: Drawing
    names: list[str]
    table: list[tuple[datetime, list[str]]]


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
    levels: list[Tick]
    times: list[Tick]
    height: int = RATE_HEIGHT

    @property
    def is_early(self) -> bool:
        """Return True where words stand instead of bars."""
        return len(self.bars) < MIN_POINTS


def draw_history(board: Leaderboard, rows: Sequence[Row]) -> History | None:
    """Return the curves of the first rows, None before the first snapshot.

    Four queries at most, however long the history.
    """
    names = {row["agent"]: row["name"] for row in rows[:N_AGENTS]}
    agents = sorted(names)
    moments = read_moments(board, agents, space_round, N_MOMENTS, FEWEST, BUDGET_BYTES)
    if not moments or not names:
        return None
    table = []
    for moment in moments:
        ratings = (moment.ratings.get(agent) for agent in names)
        cells = [
            f"{rated.mu:.2f} ({rated.low:.2f} to {rated.high:.2f})" if rated else "not on it yet"
            for rated in ratings
        ]
        table.append((moment.taken_at, cells))
    return History(draw_curves(moments, names), list(names.values()), table)


def draw_rates(board: Leaderboard) -> Rates | None:
    """Return how fast matches were counted lately, None before there are two moments. One query."""
    if board.rated_at is None:
        return None
    since = board.rated_at - SHOWN_RATES
    newest = list_snapshots(board).filter(taken_at__gte=since).order_by("-taken_at")
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
    scale = Scale(0.0, highest, height=RATE_HEIGHT)
    bars = []
    for start, end, rate in spans:
        x, width = times.place(start), round(times.place(end) - times.place(start), 2)
        y = scale.place(rate) if highest else float(RATE_HEIGHT - BOTTOM)
        height = round(RATE_HEIGHT - BOTTOM - y, 1)
        span = f"{start.astimezone(UTC):%H:%M} to {end.astimezone(UTC):%H:%M}"
        title = f"{span}: {rate:,.1f} matches/s"
        # A gap between bars, but no bar so thin that it cannot be seen.
        bars.append(Bar(x, max(width - 0.15, 0.1), y, height, title))
    levels = scale.list_ticks(N_RATE_MARKS) if highest else []
    return Rates(bars, f"{highest:,.1f}", levels, times.list_ticks())


def read_moments(
    board: Leaderboard,
    agents: Sequence[int],
    space_out: Callable[[datetime, datetime, int], list[datetime]],
    n_most: int,
    fewest: int,
    budget_bytes: int,
) -> list[Moment]:
    """Return the ratings of the agents at the snapshots next to moments spread over the history.

    The history begins where the ratings were last reset: a line across that would be of two fields.
    Four queries, however long the history is: snapshots are found by time. Of large boards fewer
    are read, so many that they hold `budget_bytes`, but not fewer than `fewest`.
    """
    comparable = list_comparable(board)
    ends = comparable.annotate(size=Length("table")).values_list("taken_at", "size")
    # Two queries: one with MIN and MAX would walk the index of the history from end to end.
    first, last = ends.order_by("taken_at").first(), ends.order_by("-taken_at").first()
    if first is None or last is None:
        return []
    n_moments = max(fewest, min(n_most, budget_bytes // last[1]))
    newest = comparable.order_by("-taken_at").values("pk")
    moments = space_out(first[0], last[0], n_moments)
    nearest = [Subquery(newest.filter(taken_at__lte=moment)[:1]) for moment in moments]
    chosen = RatingSnapshot.objects.filter(pk__in=nearest)  # type: ignore[misc]  # not for types
    # Their tables are large: `read_rows` reads only those that it does not remember.
    snapshots = list(chosen.defer("table").order_by("taken_at"))
    tables = snapshot_tables.read_rows(snapshots, agents)
    return [
        Moment(shot.taken_at, {agent: _read_rated(shot, row) for agent, row in rows.items()})
        for shot, rows in zip(snapshots, tables, strict=True)
    ]


def _read_rated(snapshot: RatingSnapshot, row: Sequence[float]) -> RatedMoment:
    columns = dict(zip(snapshot_tables.COLUMNS, row, strict=True))
    return RatedMoment(snapshot.taken_at, *(columns[name] for name in ("mu", "sd", "low", "high")))


def space_round(first: datetime, last: datetime, n_most: int = N_MOMENTS) -> list[datetime]:
    """Return the ends and round moments between, the same ones while the history grows."""
    minutes = 1
    while (last - first) > timedelta(minutes=minutes) * (n_most - 2):
        minutes *= 2
    step_s = minutes * _MINUTE_S
    from_s, until_s = int(first.timestamp()) // step_s + 1, int(last.timestamp()) // step_s
    between = [datetime.fromtimestamp(n * step_s, UTC) for n in range(from_s, until_s + 1)]
    return [first, *between, last]
