"""Waiting for SQLite's write lock."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from django.db import OperationalError
from django.db.utils import ConnectionHandler

from evalsite.sqlite.base import DatabaseWrapper

pytestmark = pytest.mark.django_db  # only so that a connection may be opened at all


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "db.sqlite3"
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE t (n INTEGER)")
    return path


def _wrapper(path: Path, *, timeout: float) -> DatabaseWrapper:
    options = {"transaction_mode": "IMMEDIATE", "timeout": timeout}
    engine = {"ENGINE": "evalsite.sqlite", "NAME": str(path), "OPTIONS": options}
    wrapper = ConnectionHandler({"default": engine})["default"]
    assert isinstance(wrapper, DatabaseWrapper)
    return wrapper


@pytest.fixture
def holder(path: Path) -> Iterator[sqlite3.Connection]:
    """Hold the write lock."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def test_a_transaction_begins_soon_after_the_lock_is_free(
    path: Path, holder: sqlite3.Connection
) -> None:
    wrapper = _wrapper(path, timeout=20)
    freed: list[float] = []

    def free() -> None:
        freed.append(monotonic())
        holder.execute("COMMIT")

    timer = threading.Timer(0.3, free)
    timer.start()
    wrapper.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    waited_s = monotonic() - freed[0]
    wrapper.rollback()
    wrapper.close()
    timer.join()
    assert waited_s < 1


def test_it_gives_up_after_the_time_out(path: Path, holder: sqlite3.Connection) -> None:
    wrapper = _wrapper(path, timeout=0.05)
    began = monotonic()
    with pytest.raises(OperationalError, match="locked"):
        wrapper.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    assert monotonic() - began >= 0.05
    wrapper.close()


def test_a_statement_outside_of_a_transaction_waits_too(
    path: Path, holder: sqlite3.Connection
) -> None:
    wrapper = _wrapper(path, timeout=20)
    timer = threading.Timer(0.1, lambda: holder.execute("COMMIT"))
    timer.start()
    with wrapper.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (%s)", [7])
        cursor.execute("SELECT n FROM t")
        assert cursor.fetchall() == [(7,)]
    wrapper.close()
    timer.join()


def test_who_waits_does_not_hold_up_a_collector_that_frees_its_cursors(
    path: Path, holder: sqlite3.Connection
) -> None:
    wrapper = _wrapper(path, timeout=5)
    wrapper.ensure_connection()
    wrapper.inc_thread_sharing()
    # A cursor that nobody closed, in the middle of its rows, as the collector finds them.
    forgotten = [wrapper.connection.execute("SELECT 1 UNION SELECT 2")]
    waiting = threading.Timer(0.0, lambda: _insert(wrapper))
    waiting.start()
    sleep(0.2)
    began = monotonic()
    forgotten.clear()
    freed_s = monotonic() - began
    holder.execute("COMMIT")
    waiting.join()
    wrapper.close()
    assert freed_s < 1


def _insert(wrapper: DatabaseWrapper) -> None:
    with wrapper.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (1)")
