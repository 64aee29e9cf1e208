"""A database that does not answer: no fault of who asked, and none that lasts."""

from typing import Final

from django.db import InterfaceError, OperationalError

ERRORS: Final = (OperationalError, InterfaceError)
RETRY_S: Final = 5
# Of PostgreSQL: no connection, out of resources, shut down by its operator.
_STATES: Final = ("08", "53", "57P")
_NAMES: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN")


def is_away(error: BaseException | None) -> bool:
    """Say whether an error means that the database does not answer now.

    Not so a table that is missing or a statement that took too long: trying again is no help.
    """
    if not isinstance(error, ERRORS):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    name = getattr(error.__cause__, "sqlite_errorname", None)
    # What never reached a server has neither.
    return str(state).startswith(_STATES) if state else not name or name.startswith(_NAMES)


def tell(*, is_safe: bool) -> str:
    """Return what to tell; is_safe: the request was to change nothing."""
    unsure = "" if is_safe else "; whether this call has changed anything is not known"
    return f"the database does not answer: try again in some seconds{unsure}"
