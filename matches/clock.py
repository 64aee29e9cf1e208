"""The database's clock: the only one that deadlines are compared with."""

from datetime import UTC, datetime

from django.db import connection


def db_now() -> datetime:
    """Return the database's time, aware, in UTC; SQLite's is the clock of its machine."""
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (now,) = cursor.fetchone()
    return datetime.fromisoformat(str(now)).astimezone(UTC)
