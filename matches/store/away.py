"""A database that does not answer: no fault of who asked, and none that lasts."""

from typing import Final

from django.db import InterfaceError, OperationalError

AWAY: Final = (OperationalError, InterfaceError)
"""What it raises, be it down, out of connections or locked for too long."""
MESSAGE: Final = "the database does not answer; nothing was changed by this: try again soon"
RETRY_S: Final = 5
