"""The duties of control."""

import pytest
from redis import Redis

from arena.queues import REPORTS_QUEUE
from matches import control, dispatch
from matches.ledger import planning, recording
from matches.models import Match, Order, RatingSnapshot, Tournament
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def test_a_tick_does_every_duty(broker: Redis) -> None:
    make.alive()
    make.scheduled(20)
    control.do_duties(now=make.NOW)
    control.do_duties(now=make.later(1))
    assert Order.objects.filter(state=Order.State.QUEUED).exists()
    assert broker.llen(REPORTS_QUEUE) == 2
    for order in make.popped(broker):
        make.start(order)
        recording.record_report(make.finished(order), now=make.NOW)
    control.do_duties(now=make.later(2))
    assert Tournament.objects.get().n_done > 0
    assert RatingSnapshot.objects.count() == 1


def test_while_one_thread_plans_another_does_not(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.scheduled(20)
    n_calls = 0
    really_plan = planning.plan_scheduled

    def plan_and_tick(*, now: object) -> int:
        nonlocal n_calls
        n_calls += 1
        control.plan_tournaments(now=make.NOW)
        return really_plan(now=make.NOW)

    monkeypatch.setattr(planning, "plan_scheduled", plan_and_tick)
    control.plan_tournaments(now=make.NOW)
    assert n_calls == 1
    assert Match.objects.count() == 20


def test_each_wake_up_clears_its_mark_so_that_the_next_is_sent(broker: Redis) -> None:
    for wake, work in (
        (dispatch.wake_planner, control.plan_tournaments),
        (dispatch.wake_relay, control.send_matches),
        (dispatch.wake_rater, control.rate_results),
    ):
        for _ in range(3):
            wake()
        assert broker.llen(dispatch.CONTROL_QUEUE) == 1
        work(now=make.NOW)
        wake()
        assert broker.llen(dispatch.CONTROL_QUEUE) == 2
        broker.flushall()
