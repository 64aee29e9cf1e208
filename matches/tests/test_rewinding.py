"""A clock that is set back, or that another machine has ahead, stops nothing."""

from datetime import timedelta

import pytest
from redis import Redis

from matches import control
from matches.control import Pace
from matches.ledger import recorder_marks, recording
from matches.ledger.sweep import shorten_leases
from matches.models import Leaderboard, Order, RatingSnapshot, RecorderMark, Worker
from matches.nodes.report_keys import list_warnings
from matches.ratings import rater, snapshots
from matches.store.clock import is_within
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
HOUR_S = 3_600


def test_deadlines_and_signs_of_life_from_the_future_are_brought_back(broker: Redis) -> None:
    make.start(make.ordered(make.planned(8), 5))
    make.alive()
    before = make.later(-HOUR_S)
    assert shorten_leases(now=before) == 2
    order, worker = Order.objects.get(), Worker.objects.get()
    assert order.deadline_at == before + timedelta(seconds=30)
    assert worker.last_seen_at == before
    assert shorten_leases(now=before) == 0


def test_a_game_server_that_was_lost_in_the_future_is_tried_again(broker: Redis) -> None:
    make.serve()
    Worker.objects.update(lost_at=make.NOW, trusted_at=make.NOW)
    before = make.later(-HOUR_S)
    assert shorten_leases(now=before) == 3
    server = Worker.objects.get()
    assert (server.lost_at, server.trusted_at) == (before, before)


def test_warnings_from_the_future_end_in_time(broker: Redis) -> None:
    make.alive()
    Worker.objects.update(rival_seen_at=make.NOW, forged_at=make.NOW, n_forged=1)
    assert shorten_leases(now=make.later(-HOUR_S)) == 3
    worker = Worker.objects.get()
    assert len(list_warnings(worker, now=make.later(-HOUR_S))) == 2
    (warning,) = list_warnings(worker, now=make.later(31 - HOUR_S))
    assert "two nodes" not in warning


def test_leases_in_time_are_left_as_they_are(broker: Redis) -> None:
    make.start(make.ordered(make.planned(8), 5))
    make.alive()
    assert shorten_leases(now=make.later(-4)) == 0


def test_a_tick_mends_them(broker: Redis) -> None:
    make.alive()
    control.do_duties(now=make.later(-HOUR_S))
    assert Worker.objects.get().last_seen_at == make.later(-HOUR_S)


def test_a_mark_from_the_future_lets_nothing_expire() -> None:
    RecorderMark.objects.create(pk=1, marked_at=make.later(HOUR_S))
    assert recorder_marks.find_recorded_until(now=make.NOW) is None


def test_outcomes_are_rated_though_the_board_was_rated_in_the_future(broker: Redis) -> None:
    make.alive()
    make.planned(8)
    for order in make.sent(broker):
        make.start(order)
        recording.record_report(make.finished(order), now=make.NOW)
    Leaderboard.objects.update(rated_at=make.later(HOUR_S), fitted_at=make.later(HOUR_S))
    assert rater.rate_all(now=make.NOW)
    assert snapshots.take_due(now=make.NOW) == 1
    RatingSnapshot.objects.update(taken_at=make.later(HOUR_S), results_hash="another")
    assert snapshots.take_due(now=make.NOW) == 1


def test_the_future_lies_within_no_span_of_the_past() -> None:
    span = timedelta(seconds=10)
    for seconds, within in ((-11, False), (-9, True), (0, True), (1, False), (HOUR_S, False)):
        assert is_within(make.later(seconds), span, now=make.NOW) == within
    assert not is_within(None, span, now=make.NOW)


def test_of_ticks_that_come_all_at_once_one_does_the_duties(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks: list[object] = []
    monkeypatch.setattr(control, "do_duties", lambda *, now: ticks.append(now))
    pace, times_s = Pace(), iter([0.0, 0.2, 0.3, 0.6, 0.8, 0.9])
    for _ in range(4):
        control.do_duties_if_due(pace=pace, clock_s=lambda: next(times_s))
    assert len(ticks) == 2
