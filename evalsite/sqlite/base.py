"""SQLite for several writing processes with threads: who waits for the lock waits in Python.

SQLite's own wait has two faults here. It sleeps longer each time, up to 100 ms, so while control
planned a tournament, slice after slice, the recorder came too late. And it holds the mutex of its
connection: when the collector of a thread that has the write lock then frees a cursor of a thread
that waits for it, both stand still until the time is up (seen: 20 s, in one run of ten).
"""

import sqlite3
from time import monotonic, sleep
from typing import Any

from django.db.backends.sqlite3 import base

POLL_S = 0.001


class Cursor(base.SQLiteCursorWrapper):
    """Django's cursor, which waits in Python for the lock of the database."""

    def __init__(self, connection: Any, limit_s: float) -> None:
        super().__init__(connection)
        self._limit_s = limit_s

    def execute(self, query: Any, params: Any = None) -> Any:
        """Run one statement, again and again while the database is locked."""
        # Only a BEGIN or a statement outside of a transaction meets a lock.
        deadline = monotonic() + self._limit_s
        while True:
            try:
                return super().execute(query, params)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or monotonic() >= deadline:
                    raise
            sleep(POLL_S)


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper with such cursors; the option `timeout` is how long they wait."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Return a connection that never waits by itself."""
        connection = super().get_new_connection(conn_params)
        connection.execute("PRAGMA busy_timeout = 0")
        return connection

    def create_cursor(self, name: str | None = None) -> Any:  # noqa: ARG002 - Django's signature
        """Return a cursor."""
        limit_s = float(self.settings_dict["OPTIONS"]["timeout"])
        return self.connection.cursor(factory=lambda connection: Cursor(connection, limit_s))
