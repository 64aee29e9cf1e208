"""Commits that are on disk when they return, where what they replace is deleted next.

PostgreSQL does so by itself. SQLite, as our settings open it, may lose the newest ones at a power
cut: rows would then name files, or wait for entries of the stream, that are gone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

_FULL, _NORMAL = "FULL", "NORMAL"


def keep_commits(connection: BaseDatabaseWrapper, **_: object) -> None:
    """Have all commits of a new connection on disk: a receiver of `connection_created`."""
    _set_level(connection, _FULL)


@contextmanager
def kept_commits() -> Iterator[None]:
    """Have the commits of the block on disk; not within a transaction."""
    _set_level(connection, _FULL)
    try:
        yield
    finally:
        _set_level(connection, _NORMAL)


def _set_level(connection: BaseDatabaseWrapper, level: str) -> None:
    # In a transaction, as tests are, SQLite refuses to.
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA synchronous = {level}")
