"""A database that does not answer, or takes nothing: no fault of who asked, and none that lasts."""

from typing import Final

from django.db import InterfaceError, InternalError, OperationalError

ERRORS: Final = (OperationalError, InterfaceError, InternalError)
RETRY_S: Final = 5
# Of PostgreSQL: no connection, shut down by its operator; a standby that is to take over, or a
# server that its host has made read-only because its disk is full; out of resources.
_UNREACHABLE: Final = ("08", "57P", "25006")
_STATES: Final = (*_UNREACHABLE, "53")
_NAMES: Final = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_CANTOPEN")


def is_away(error: BaseException | None) -> bool:
    """Say whether an error means that the database does not answer now.

    Not so a table that is missing or a statement that took too long: trying again is no help.
    """
    if not isinstance(error, ERRORS):
        return False
    state, name = _read_codes(error)
    if state or isinstance(error, InternalError):
        return str(state).startswith(_STATES)
    # What never reached a server has neither.
    return not name or name.startswith(_NAMES)


def is_unreachable(error: BaseException | None) -> bool:
    """Say whether there is no database to ask or to write to: it is not busy or held up."""
    if not isinstance(error, OperationalError | InternalError):
        return False
    state, name = _read_codes(error)
    if state or name or isinstance(error, InternalError):
        return str(state).startswith(_UNREACHABLE) or name == "SQLITE_CANTOPEN"
    return error.__cause__ is not None


def _read_codes(error: BaseException) -> tuple[str | None, str | None]:
    """Return what PostgreSQL and SQLite call an error."""
    cause = error.__cause__
    return getattr(cause, "sqlstate", None), getattr(cause, "sqlite_errorname", None)


def tell(*, is_safe: bool) -> str:
    """Return what to tell; is_safe: the request was to change nothing."""
    unsure = "" if is_safe else "; whether this call has changed anything is not known"
    return f"the database does not answer: try again in some seconds{unsure}"
