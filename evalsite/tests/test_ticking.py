"""Beat while clocks are set: control ticks on, and no schedule waits for its last run."""

from datetime import UTC, datetime, timedelta

import pytest
from celery.utils.imports import symbol_by_name
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from redis import Redis

from evalsite.celery import app
from evalsite.ticking import TickingScheduler
from matches import dispatch

N_TASKS = 2
"""Of one tick: of matches, and of training."""
# Beat closes connections and commits: it may not share the transaction of a test.
pytestmark = pytest.mark.django_db(transaction=True)


class Clock:
    """A clock that shows what it is told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def scheduler(clock: Clock) -> TickingScheduler:
    chosen = symbol_by_name(app.conf.beat_scheduler)
    made: TickingScheduler = chosen(app=app, lazy=True)
    made.clock_s = clock
    made.setup_schedule()
    return made


def scheduled_every_second(*, last_run_at: datetime) -> PeriodicTask:
    every, _ = IntervalSchedule.objects.get_or_create(every=1, period=IntervalSchedule.SECONDS)
    return PeriodicTask.objects.create(
        name="mine", task="matches.schedule_tournament", interval=every, last_run_at=last_run_at
    )


def in_an_hour() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


def test_control_ticks_on_though_the_tick_ran_last_in_the_future(broker: Redis) -> None:
    scheduler(Clock()).sync()
    PeriodicTask.objects.update(last_run_at=in_an_hour())
    beat = scheduler(Clock())
    for _ in range(2):  # Celery's own only fills its heap at the first look
        beat.tick()
    assert broker.llen(dispatch.CONTROL_QUEUE) == N_TASKS


def test_ticks_go_by_the_clock_that_nobody_sets(broker: Redis) -> None:
    clock = Clock()
    beat = scheduler(clock)
    assert 0 < beat.tick() <= 1
    beat.tick()
    assert broker.llen(dispatch.CONTROL_QUEUE) == N_TASKS
    clock.now_s += 1
    beat.tick()
    assert broker.llen(dispatch.CONTROL_QUEUE) == 2 * N_TASKS


def test_ticks_stop_while_control_takes_none(broker: Redis) -> None:
    clock = Clock()
    beat = scheduler(clock)
    for _ in range(200):
        beat.tick()
        clock.now_s += 1
    assert 2 < broker.llen(dispatch.CONTROL_QUEUE) < 50


def test_no_tick_expires_by_the_clock_of_another_machine(broker: Redis) -> None:
    scheduler(Clock()).tick()
    dispatch.wake_relay()
    for item in broker.lrange(dispatch.CONTROL_QUEUE, 0, -1):
        assert b'"expires": null' in item


def test_a_schedule_that_ran_last_in_the_future_runs_again(broker: Redis) -> None:
    scheduled_every_second(last_run_at=in_an_hour())
    beat = scheduler(Clock())
    beat.tick()
    entry = beat.schedule["mine"]
    assert entry.last_run_at <= datetime.now(UTC)


def test_the_tick_of_earlier_versions_is_no_schedule_any_more(broker: Redis) -> None:
    row = scheduled_every_second(last_run_at=in_an_hour())
    PeriodicTask.objects.filter(pk=row.pk).update(task=dispatch.TICK)
    assert "mine" not in scheduler(Clock()).schedule


def test_a_change_of_schedules_is_seen_though_its_time_lies_before_the_last_one(
    broker: Redis,
) -> None:
    beat = scheduler(Clock())
    beat.tick()
    beat._last_timestamp = in_an_hour()
    scheduled_every_second(last_run_at=datetime.now(UTC))
    assert "mine" in beat.schedule
