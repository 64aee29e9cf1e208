"""Waiting for the database."""

import pytest
from django.db import OperationalError

from matches.store.failures import WAITS_S, retry_while_database_is_away


class _Flaky:
    def __init__(self, n_failures: int) -> None:
        self.n_left = n_failures

    def __call__(self) -> str:
        self.n_left -= 1
        if self.n_left >= 0:
            raise OperationalError("away")
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
