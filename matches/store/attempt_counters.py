"""How many attempts ended how, counted by the processes that write them: a rate costs no query.

Each process adds up and passes its sums to the fast store about once a second. They are for
dashboards: a fast store that restarts begins at zero, as counters of Prometheus may.
"""

import logging
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from threading import Lock
from typing import NamedTuple

from redis.exceptions import RedisError

from matches.store import fast_store
from matches.store.clock import is_within

log = logging.getLogger(__name__)

FLUSH_EVERY = timedelta(seconds=0.5)
KEY = "tally:attempts"


class Kind(NamedTuple):
    """How an attempt ended, and why; both are values of an enum."""

    ending: str
    reason: str


class AttemptCounter:
    """Sums that one process has not passed on yet; control has two threads."""

    def __init__(self) -> None:
        self._sums: Counter[Kind] = Counter()
        self._lock = Lock()
        self._flushed_at: datetime | None = None

    def note(self, ended: Iterable[Kind]) -> None:
        """Add to the sums; costs no round trip."""
        with self._lock:
            self._sums.update(ended)

    def flush(self, *, now: datetime) -> None:
        """Pass the sums on when it is time; what the fast store does not take is kept."""
        with self._lock:
            if not self._sums or is_within(self._flushed_at, FLUSH_EVERY, now=now):
                return
            self._flushed_at = now
            sums, self._sums = self._sums, Counter()
        try:
            pipeline = fast_store.get_client().pipeline(transaction=True)
            for kind, n in sums.items():
                pipeline.hincrby(KEY, ":".join(kind), n)
            pipeline.execute()
        except RedisError as error:
            log.warning("attempts are counted later, the fast store is away: %s", error)
            # Back to what was counted meanwhile, for the next time.
            with self._lock:
                self._sums += sums


_here = AttemptCounter()


def count_attempts(ended: Iterable[Kind]) -> None:
    """Add to the sums of this process."""
    _here.note(ended)


def flush_counts(*, now: datetime) -> None:
    """Pass the sums of this process on, at most twice a second."""
    _here.flush(now=now)


def read_counts() -> dict[Kind, int]:
    """Return how many attempts ended how since the fast store began. Raises RedisError."""
    counts = fast_store.get_client().hgetall(KEY)
    names = [field if isinstance(field, str) else field.decode() for field in counts]
    return {
        Kind(*name.split(":", 1)): int(n) for name, n in zip(names, counts.values(), strict=True)
    }
