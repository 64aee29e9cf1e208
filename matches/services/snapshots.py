"""Keep the history of ratings: at most one compressed snapshot a minute per leaderboard."""

from datetime import datetime, timedelta

from matches import tables
from matches.clock import is_within
from matches.models import Leaderboard, Rating, RatingSnapshot

INTERVAL = timedelta(minutes=1)
COLUMNS = tables.COLUMNS


def take_due(*, now: datetime) -> int:
    """Take a snapshot of every board that changed since its last one; return how many."""
    changed = Leaderboard.objects.filter(rated_at__gte=now - 2 * INTERVAL).exclude(results_hash="")
    return sum(_take(board, now=now) for board in changed)


def rows(snapshot: RatingSnapshot) -> list[list[float]]:
    """Return the rows of a snapshot in the order of COLUMNS."""
    return tables.rows(snapshot)


def row_of(snapshot: RatingSnapshot, agent: int) -> list[float] | None:
    """Return the row of one agent, None if it has none."""
    return tables.rows_of(snapshot, [agent]).get(agent)


def _take(board: Leaderboard, *, now: datetime) -> bool:
    last = RatingSnapshot.objects.filter(leaderboard=board).order_by("-taken_at").first()
    if last and last.results_hash == board.results_hash:
        return False
    if last and is_within(last.taken_at, INTERVAL, now=now):
        return False
    ratings = Rating.objects.filter(leaderboard=board).order_by("agent_id").values_list(*COLUMNS)
    RatingSnapshot.objects.create(
        leaderboard=board,
        taken_at=now,
        n_outcomes=board.n_settled,
        results_hash=board.results_hash,
        table=tables.packed(ratings),
    )
    return True
