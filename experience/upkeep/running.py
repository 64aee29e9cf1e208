"""Upkeep as a duty of control: once a minute, the sweep of files once an hour."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from redis.exceptions import RedisError

from experience.sqlite_commits import kept_commits
from experience.upkeep import compaction, pruning, retention, sweeping
from matches.store.staging import sweep_staging

EVERY: Final = timedelta(minutes=1)
SWEEP_EVERY: Final = timedelta(hours=1)
Connect = Callable[[], AbstractContextManager[Any]]
log = logging.getLogger(__name__)


class Upkeep:
    """Knows what it has done last; of two controls each does it, which harms nothing."""

    def __init__(self) -> None:
        """Make every duty due at the first tick."""
        self._done_at: datetime | None = None
        self._swept_at: datetime | None = None

    def keep_up(self, connect: Connect, *, now: datetime) -> None:
        """Join, forget and delete what is due. connect: to the stream. Raises OSError."""
        if not _is_due(self._done_at, EVERY, now=now):
            return
        self._done_at = now
        # Files go once their rows are gone: that has to outlive a power cut.
        with kept_commits():
            retention.delete_old_segments(days=settings.EVALSITE_EXPERIENCE_DAYS, now=now)
            compaction.compact_next(most_rows=settings.EVALSITE_EXPERIENCE_COMPACT_ROWS, now=now)
        if _is_due(self._swept_at, SWEEP_EVERY, now=now):
            self._swept_at = now
            sweeping.sweep_files(now=now)
            sweep_staging(now=now)
        if settings.STREAM_REDIS_URL:
            self._prune_index(connect, now=now)

    def _prune_index(self, connect: Connect, *, now: datetime) -> None:
        try:
            with connect() as client:
                days = settings.EVALSITE_EXPERIENCE_INDEX_DAYS
                pruning.prune_index(client, days=days, now=now)
        except RedisError as error:
            log.warning("the index of chunks is not pruned while the stream is away: %s", error)


def _is_due(last: datetime | None, every: timedelta, *, now: datetime) -> bool:
    # Also where the clock was set back.
    return last is None or not timedelta(0) <= now - last < every
