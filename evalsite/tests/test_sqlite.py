"""Waiting for SQLite's write lock."""

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

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
    assert waited_s < 0.05


def test_it_gives_up_after_the_time_out_and_keeps_the_wait_of_other_statements(
    path: Path, holder: sqlite3.Connection
) -> None:
    wrapper = _wrapper(path, timeout=0.05)
    with pytest.raises(OperationalError, match="locked"):
        wrapper.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    assert wrapper.connection.execute("PRAGMA busy_timeout").fetchone() == (50,)
    wrapper.close()
