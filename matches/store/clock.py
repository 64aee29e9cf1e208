"""The database's clock, which all deadlines go by, and how long control waits by it."""

from datetime import UTC, datetime, timedelta

from django.db import connection

ALIVE_WITHIN = timedelta(seconds=30)
"""A node whose last `alive` is older gets no more orders (it sends one every 10 s)."""

LOST_WITHIN = timedelta(hours=1)
"""A node that fell silent within this is named as lost."""

SERVER_ALIVE_WITHIN = timedelta(seconds=10)
"""The same of a game server, for which the head reports every 2 s."""

QUEUED_LEASE = timedelta(seconds=600)
"""An order that nobody has started is sent again after this, whatever the queue looks like."""

POPPED_GRACE = timedelta(seconds=3)
"""An order that has left its queue must be reported as started within this, else it was lost.

Every node that may have taken it must have been heard of since: a loaded machine is slow to say so.
"""

POPPED_LIMIT = timedelta(seconds=15)
"""After this it was lost, though a node was not heard of, which says every 10 s that it lives."""

PLAYING_LEASE = timedelta(seconds=30)
"""An order in play is given up when no report of its node comes for so long."""

ORDER_SLACK = 20
"""An order in play is given up after so many times its expected work, as if on one slot ..."""

MATCHES_AT_LIMIT = 3
"""... and so many matches that take as long as a match may: hours, not days."""

MARK_MAX_AGE = timedelta(seconds=5)
"""Nothing expires while the recorder lags by more than this: no storm of replays."""

MAX_FAILURES = 5
"""Failed attempts after which a match is VOID."""

MAX_INTERRUPTIONS = 20
"""Lost nodes, notices and the like after which a match is VOID."""

FORESEEABLE_S = 100 * 31_557_600
"""An end that is further away is not told: a date of the next century says nothing."""


def db_now() -> datetime:
    """Return the database's time, aware, in UTC."""
    if connection.vendor == "sqlite":  # whose clock is that of its machine
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return datetime.fromisoformat(str(now)).astimezone(UTC)


def foresee_moment(now: datetime, seconds: float) -> datetime | None:
    """Return the moment after so many seconds; None where that is not foreseeable."""
    # Some would be after the last year that a date can have.
    return now + timedelta(seconds=seconds) if seconds < FORESEEABLE_S else None


def is_within(at: datetime | None, span: timedelta, *, now: datetime) -> bool:
    """Say whether a moment lies in the last span of time."""
    # One in the future does not: the clock was set back since, and what waits for "not again
    # within" would wait until it has caught up.
    return at is not None and timedelta(0) <= now - at < span
