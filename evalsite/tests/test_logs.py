"""Logs tell in a line that the database is away, and keep the traceback of all other errors."""

import logging
import sqlite3
import sys

import psycopg
import pytest
from django.db import InterfaceError, InternalError, OperationalError

from evalsite.logs import PlainFormatter


def away() -> OperationalError:
    error = OperationalError("connection to 10.0.0.7 refused\n\tIs it running?")
    error.__cause__ = ConnectionError()
    return error


def of_sqlite(name: str) -> OperationalError:
    error = OperationalError("no such table: matches_match")
    error.__cause__ = sqlite3.OperationalError()
    error.__cause__.sqlite_errorname = name
    return error


def read_only() -> InternalError:
    error = InternalError("cannot execute UPDATE in a read-only transaction")
    error.__cause__ = psycopg.errors.ReadOnlySqlTransaction()
    return error


def written(error: Exception) -> str:
    try:
        raise error
    except Exception:
        exc_info = sys.exc_info()
    record = logging.LogRecord("control", logging.ERROR, "", 1, "tick failed", (), exc_info)
    return PlainFormatter("{message}", style="{").format(record)


@pytest.mark.parametrize(
    "error", [away(), ExceptionGroup("several duties failed", [away(), away()])]
)
def test_that_the_database_is_away_takes_a_line(error: Exception) -> None:
    lines = written(error).splitlines()
    assert lines[0] == "tick failed"
    assert set(lines[1:]) == {"OperationalError: connection to 10.0.0.7 refused"}


def test_that_it_may_only_be_read_takes_a_line() -> None:
    line = "InternalError: cannot execute UPDATE in a read-only transaction"
    assert written(read_only()).splitlines() == ["tick failed", line]


def test_what_it_kept_from_is_told() -> None:
    error = away()
    error.add_note("while planning")
    assert written(ExceptionGroup("duties", [error])).endswith("refused, while planning")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        of_sqlite("SQLITE_ERROR"),
        of_sqlite("SQLITE_BUSY"),
        InterfaceError("cursor already closed"),
        InternalError("no code of a server"),
        ExceptionGroup("duties", [away(), ValueError("x")]),
    ],
)
def test_any_other_error_keeps_its_traceback(error: Exception) -> None:
    assert "in written" in written(error)
