"""Schedules whose time has come and of which nothing was started: their message was lost.

Beat says once that something is due. When the broker refuses that message, or loses it, only the
rows know; so control looks at them.
"""

from datetime import datetime, timedelta

from matches.campaigns import scheduling
from matches.models import Schedule, ScheduleRun
from matches.store.failures import Failures

# So long beat's own message has to arrive; whoever comes second starts nothing.
GRACE = timedelta(seconds=5)

# When each schedule is due next, so that crontabs are not read every second.
_next_due: dict[tuple[object, ...], datetime | None] = {}


def start_overdue(*, now: datetime) -> int:
    """Start what was due and has no run; return how many. Each time is started exactly once.

    Of the times that were missed while nothing ran only the last one counts, as with beat.
    """
    failures, n_started = Failures(), 0
    enabled = list(Schedule.objects.filter(is_enabled=True).order_by("pk"))
    for key in set(_next_due) - {_schedule_key(schedule) for schedule in enabled}:
        del _next_due[key]
    for schedule in enabled:
        with failures.collect(f"starting schedule {schedule.pk}"):
            if _is_overdue(schedule, now=now):
                n_started += scheduling.start_due(schedule.pk, now=now) is not None
    failures.raise_all()
    return n_started


def _is_overdue(schedule: Schedule, *, now: datetime) -> bool:
    key = _schedule_key(schedule)
    next_due = _next_due.get(key, now - GRACE)
    if next_due is None or next_due + GRACE > now:
        return False
    due = scheduling.last_due(schedule, now=now - GRACE)
    is_run = due is not None and ScheduleRun.objects.filter(schedule=schedule, due_at=due).exists()
    # What was due before the schedule was made or changed is nothing that was missed.
    if is_run or due is None or due < schedule.since_at.replace(second=0, microsecond=0):
        _next_due[key] = scheduling.next_due(schedule, now=now - GRACE)
        return False
    return True


def _schedule_key(schedule: Schedule) -> tuple[object, ...]:
    """Return what its times follow from."""
    return (schedule.pk, schedule.crontab, schedule.timezone, schedule.once_at, schedule.since_at)
