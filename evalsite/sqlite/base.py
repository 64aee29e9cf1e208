"""SQLite for several writing processes: who waits for the lock looks every millisecond.

SQLite's own wait sleeps longer each time, up to 100 ms. While control plans a tournament, slice
after slice, the recorder then came too late each time: it waited 0.3 s of a run of one second.
"""

from time import monotonic, sleep

from django.db import OperationalError
from django.db.backends.sqlite3 import base

POLL_S = 0.001


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper; only the beginning of a transaction differs."""

    def _start_transaction_under_autocommit(self) -> None:
        limit_s = float(self.settings_dict["OPTIONS"]["timeout"])
        deadline = monotonic() + limit_s
        self._set_wait(0)
        try:
            while not self._has_begun(is_last=monotonic() >= deadline):
                sleep(POLL_S)
        finally:
            self._set_wait(limit_s)

    def _has_begun(self, *, is_last: bool) -> bool:
        try:
            # The stubs leave this part of Django out.
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except OperationalError as error:
            if is_last or "locked" not in str(error):
                raise
            return False
        return True

    def _set_wait(self, seconds: float) -> None:
        self.connection.execute(f"PRAGMA busy_timeout = {int(1_000 * seconds)}")
