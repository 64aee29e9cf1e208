"""What the ratings of a leaderboard were about an hour before its last rating."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from types import MappingProxyType

from matches.models import Leaderboard, RatingSnapshot
from matches.store import snapshot_tables

WINDOW = timedelta(hours=1)
NOTHING: Mapping[int, float] = MappingProxyType({})

_N_KEPT = 16


def read_mu_before(board: Leaderboard) -> Mapping[int, float]:
    """Return mu by agent id an hour before the last rating; of the first snapshot if it is younger.

    Counted from the last rating and not from now, so that what a quiet board shows does not change.
    """
    if board.rated_at is None:
        return NOTHING
    taken = RatingSnapshot.objects.filter(leaderboard=board).defer("table")
    past = taken.filter(taken_at__lte=board.rated_at - WINDOW).order_by("-taken_at").first()
    found = past or taken.order_by("taken_at").first()
    return _read_snapshot(found.pk, found.taken_at, found.results_hash) if found else NOTHING


@lru_cache(maxsize=_N_KEPT)
def _read_snapshot(pk: int, _taken_at: datetime, _results_hash: str) -> Mapping[int, float]:
    """Return mu by agent id of one snapshot, which never changes once it is taken."""
    rows = snapshot_tables.unpack_rows(RatingSnapshot.objects.get(pk=pk))
    return {int(agent): mu for agent, mu, *_ in rows}
