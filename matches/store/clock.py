"""The database's clock: the only one that deadlines are compared with."""

from datetime import UTC, datetime, timedelta

from django.db import connection


def db_now() -> datetime:
    """Return the database's time, aware, in UTC; SQLite's is the clock of its machine."""
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return datetime.fromisoformat(str(now)).astimezone(UTC)


def is_within(at: datetime | None, span: timedelta, *, now: datetime) -> bool:
    """Say whether a moment lies in the last span of time.

    One in the future does not: the clock was set back since, and what waits for "not again within"
    would wait until it has caught up.
    """
    return at is not None and timedelta(0) <= now - at < span
