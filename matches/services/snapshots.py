"""Keep the history of ratings: at most one compressed snapshot a minute per leaderboard."""

import json
import zlib
from collections.abc import Iterable
from datetime import datetime, timedelta

from matches.models import Leaderboard, Rating, RatingSnapshot

INTERVAL = timedelta(minutes=1)
COLUMNS = ("agent_id", "mu", "sd", "live_mu", "live_sigma")


def take_due(*, now: datetime) -> int:
    """Take a snapshot of every board that changed since its last one; return how many."""
    changed = Leaderboard.objects.filter(rated_at__gte=now - 2 * INTERVAL)
    return sum(_take(board, now=now) for board in changed)


def rows(snapshot: RatingSnapshot) -> list[list[float]]:
    """Return the rows of a snapshot in the order of COLUMNS."""
    table: list[list[float]] = json.loads(zlib.decompress(snapshot.table))
    return table


def row_of(snapshot: RatingSnapshot, agent: int) -> list[float] | None:
    """Return the row of one agent, None if it has none: without reading the thousands of others."""
    text = zlib.decompress(snapshot.table)
    # A number follows "[" only where a row begins with its agent.
    start = text.find(b"[%d," % agent)
    if start < 0:
        return None
    row: list[float] = json.loads(text[start : text.index(b"]", start) + 1])
    return row


def _take(board: Leaderboard, *, now: datetime) -> bool:
    last = RatingSnapshot.objects.filter(leaderboard=board).order_by("-taken_at").first()
    if last and (last.results_hash == board.results_hash or last.taken_at > now - INTERVAL):
        return False
    ratings = Rating.objects.filter(leaderboard=board).order_by("agent_id").values_list(*COLUMNS)
    RatingSnapshot.objects.create(
        leaderboard=board,
        taken_at=now,
        n_outcomes=board.n_settled,
        results_hash=board.results_hash,
        table=_compressed(ratings),
    )
    return True


def _compressed(ratings: Iterable[tuple[float, ...]]) -> bytes:
    return zlib.compress(json.dumps([list(row) for row in ratings]).encode())
