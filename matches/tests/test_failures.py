"""Waiting for the database."""

import psycopg
import pytest
from django.db import InternalError, OperationalError

from matches.store.failures import WAITS_S, retry_while_database_is_away


class _Flaky:
    def __init__(self, n_failures: int, error: Exception | None = None) -> None:
        self.n_left = n_failures
        self._error = error or OperationalError("away")

    def __call__(self) -> str:
        self.n_left -= 1
        if self.n_left >= 0:
            raise self._error
        return "done"


@pytest.mark.django_db
def test_it_waits_longer_each_time_until_the_database_answers() -> None:
    waited: list[float] = []
    assert retry_while_database_is_away(_Flaky(3), sleep=waited.append) == "done"
    assert waited == list(WAITS_S[:3])


@pytest.mark.django_db
def test_it_gives_up_in_the_end() -> None:
    waited: list[float] = []
    with pytest.raises(OperationalError):
        retry_while_database_is_away(_Flaky(99), sleep=waited.append)
    assert waited == list(WAITS_S)


@pytest.mark.django_db
def test_it_waits_for_a_database_that_may_only_be_read_now() -> None:
    error = InternalError("cannot execute UPDATE in a read-only transaction")
    error.__cause__ = psycopg.errors.ReadOnlySqlTransaction()
    waited: list[float] = []
    assert retry_while_database_is_away(_Flaky(2, error), sleep=waited.append) == "done"
    assert waited == list(WAITS_S[:2])


@pytest.mark.django_db
def test_it_does_not_wait_for_what_no_waiting_mends() -> None:
    error = InternalError("invalid page in block 7")
    error.__cause__ = psycopg.errors.DataCorrupted()
    waited: list[float] = []
    with pytest.raises(InternalError):
        retry_while_database_is_away(_Flaky(2, error), sleep=waited.append)
    assert not waited
