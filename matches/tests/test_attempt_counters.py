"""Sums of ended attempts: passed on about once a second, kept while the fast store is away."""

import logging

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks
from redis import Redis
from redis.exceptions import ConnectionError as LostError

from arena.messages import Ending, Reason
from matches.ledger import recording
from matches.models import Tournament
from matches.store import attempt_counters, fast_store
from matches.store.attempt_counters import AttemptCounter, Kind
from matches.tests import factories as make
from matches.tests.factories import NOW, later

DONE, LOST = Kind("done", ""), Kind("interrupted", "node_lost")


def test_sums_are_passed_on_at_most_twice_a_second(broker: Redis) -> None:
    tally = AttemptCounter()
    tally.note([DONE, DONE, LOST])
    tally.flush(now=NOW)
    assert attempt_counters.read_counts() == {DONE: 2, LOST: 1}
    tally.note([DONE])
    tally.flush(now=later(0.4))
    assert attempt_counters.read_counts()[DONE] == 2
    tally.flush(now=later(0.6))
    assert attempt_counters.read_counts()[DONE] == 3


def test_several_processes_add_up(broker: Redis) -> None:
    for _ in range(2):
        tally = AttemptCounter()
        tally.note([DONE])
        tally.flush(now=NOW)
    assert attempt_counters.read_counts() == {DONE: 2}


def test_what_the_fast_store_does_not_take_is_passed_on_later(
    broker: Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away() -> Redis:
        raise LostError("gone")

    tally = AttemptCounter()
    tally.note([DONE])
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(fast_store, "get_client", away)
        tally.flush(now=NOW)
    assert "counted later" in caplog.text
    tally.note([DONE])
    tally.flush(now=later(1))
    assert attempt_counters.read_counts() == {DONE: 2}


@pytest.mark.django_db
def test_every_attempt_that_ends_is_counted_once_it_is_committed(
    broker: Redis,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    monkeypatch.setattr(attempt_counters, "_here", AttemptCounter())
    order = make.ordered(make.planned(3))
    make.start(order)
    first, second, third = order.matches
    rows = [
        make.first_wins(first),
        make.result(second, ending=Ending.FORFEIT, ranks=[0, 1], reason=Reason.CRASH, seat=1),
        make.result(third, ending=Ending.FAILED, reason=Reason.ERROR),
    ]
    with django_capture_on_commit_callbacks(execute=True):
        recording.record_report(make.reported(order, rows), now=NOW)
    attempt_counters.flush_counts(now=NOW)
    assert attempt_counters.read_counts() == {
        DONE: 1,
        Kind("forfeit", "crash"): 1,
        Kind("failed", "error"): 1,
    }
    assert Tournament.objects.get().n_done == 2
