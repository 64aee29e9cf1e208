"""Schedules: tournaments that start by crontab or once, without anybody asking."""

import json
import logging
from collections.abc import Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, PeriodicTask

from matches import dispatch
from matches.errors import BadInputError
from matches.models import Agent, Checkpoint, Schedule, ScheduleRun, Tournament
from matches.services import auditing, crontabs
from matches.services import tournaments as tournaments_service
from matches.services.agents import bad_input
from matches.services.auditing import Actor
from matches.services.tournaments import Plan

log = logging.getLogger(__name__)

PLANNED = (
    *("pairing", "n_matches", "move_s", "match_s", "is_rated"),
    *("keeps_trajectories", "trajectory_days", "order_limit"),
)
MAX_PROBLEM = 300
OVER = (Tournament.State.DONE, Tournament.State.CANCELLED)


@transaction.atomic
def save(
    schedule: Schedule, *, agents: Sequence[Agent], actor: Actor, reason: str = "", now: datetime
) -> Schedule:
    """Add a schedule, or store what was changed in it, together with what beat reads.

    No agents: all of the leaderboard that are neither retired nor quarantined at that time.
    Raises BadInputError naming the field that is refused, such as a crontab that never is due.
    """
    is_new = schedule.pk is None
    if is_new:
        schedule.created_at = now
    _check(schedule, agents, now=now)
    schedule.save()
    schedule.agents.set(agents)
    _tell_beat(schedule)
    touched = {"when": when(schedule), "n_agents": len(agents), "n_matches": schedule.n_matches}
    action = "schedule.add" if is_new else "schedule.change"
    auditing.note(action, actor=actor, targets=[schedule], reason=reason, touched=touched, now=now)
    return schedule


@transaction.atomic
def switch(
    schedule: Schedule, *, is_enabled: bool, actor: Actor, reason: str = "", now: datetime
) -> bool:
    """Enable or disable a schedule; False when it was so before."""
    other = Schedule.objects.filter(pk=schedule.pk, is_enabled=not is_enabled)
    if not other.update(is_enabled=is_enabled):
        return False
    schedule.refresh_from_db()
    if is_enabled and schedule.once_at is not None and schedule.once_at <= now:
        raise BadInputError("once_at", f"{schedule.once_at:%Y-%m-%d %H:%M} UTC is over")
    _tell_beat(schedule)
    action = "schedule.enable" if is_enabled else "schedule.disable"
    auditing.note(action, actor=actor, targets=[schedule], reason=reason, touched={}, now=now)
    return True


@transaction.atomic
def delete(schedule: Schedule, *, actor: Actor, reason: str = "", now: datetime) -> None:
    """Remove a schedule; its tournaments stay."""
    touched = {"when": when(schedule), "n_started": schedule.n_started}
    auditing.note(
        "schedule.delete", actor=actor, targets=[schedule], reason=reason, touched=touched, now=now
    )
    task = schedule.periodic_task
    schedule.delete()
    if task is not None:
        task.delete()
        _forget_unused()


def when(schedule: Schedule) -> str:
    """Return the time of a schedule as people read it."""
    if schedule.once_at is not None:
        return f"once at {schedule.once_at:%Y-%m-%d %H:%M} UTC"
    return f"{schedule.crontab} ({schedule.timezone})"


def next_due(schedule: Schedule, *, now: datetime) -> datetime | None:
    """Return when it is due next; None when it is disabled or never will be."""
    if not schedule.is_enabled:
        return None
    if schedule.once_at is not None:
        return schedule.once_at if schedule.once_at > now else None
    return crontabs.parse(schedule.crontab, schedule.timezone, now=now).next(now=now)


@transaction.atomic
def start_due(schedule_id: int, *, now: datetime) -> Tournament | None:
    """Schedule the tournament that is due; None when there is one already or it was passed over.

    However often and late it is called for a time at which it was due: one tournament, or one
    reason why there is none.
    """
    locked = Schedule.objects.select_for_update().filter(pk=schedule_id, is_enabled=True)
    schedule = locked.first()
    due = _last_due(schedule, now=now) if schedule else None
    if (
        schedule is None
        or due is None
        or due < schedule.created_at.replace(second=0, microsecond=0)
    ):
        log.warning("schedule %s is not due: nothing is started", schedule_id)
        return None
    run, is_new = ScheduleRun.objects.get_or_create(schedule=schedule, due_at=due)
    if not is_new:
        return None
    try:
        tournament = _started(schedule, due)
    except BadInputError as error:
        _pass_over(schedule, run, str(error)[:MAX_PROBLEM], now=now)
        return None
    ScheduleRun.objects.filter(pk=run.pk).update(tournament=tournament)
    Schedule.objects.filter(pk=schedule.pk).update(
        last_tournament=tournament,
        n_started=F("n_started") + 1,
        problem="",
        is_enabled=schedule.once_at is None,
    )
    _note(schedule, "schedule.start", {"tournament": tournament.pk}, now=now)
    return tournament


@transaction.atomic
def start_now(schedule: Schedule, *, actor: Actor, reason: str = "", now: datetime) -> Tournament:
    """Return a new tournament of a schedule, besides those of the times at which it is due.

    Raises BadInputError while the one before goes on, and where it cannot be.
    """
    schedule = Schedule.objects.select_for_update().get(pk=schedule.pk)
    tournament = _started(schedule, now)
    ScheduleRun.objects.create(schedule=schedule, due_at=now, tournament=tournament)
    Schedule.objects.filter(pk=schedule.pk).update(
        last_tournament=tournament, n_started=F("n_started") + 1, problem=""
    )
    touched = {"tournament": tournament.pk}
    auditing.note(
        "schedule.start", actor=actor, targets=[schedule], reason=reason, touched=touched, now=now
    )
    return tournament


def _check(schedule: Schedule, agents: Sequence[Agent], *, now: datetime) -> None:
    if bool(schedule.crontab) == (schedule.once_at is not None):
        raise BadInputError("crontab", "give a crontab, or once_at for a single time: not both")
    if schedule.once_at is None:
        crontabs.parse(schedule.crontab, schedule.timezone, now=now)
    elif schedule.once_at <= now and schedule.is_enabled:
        raise BadInputError("once_at", f"{schedule.once_at:%Y-%m-%d %H:%M} UTC is over")
    try:
        schedule.full_clean()
    except ValidationError as error:
        raise bad_input(error) from error
    tournaments_service.check_plan(_plan(schedule, now), leaderboard=schedule.leaderboard)
    if agents:
        tournaments_service.check_agents(schedule.leaderboard, agents, is_rated=schedule.is_rated)


def _plan(schedule: Schedule, due: datetime) -> Plan:
    planned = {name: getattr(schedule, name) for name in PLANNED}
    name = f"{schedule.name} {due:%Y-%m-%d %H:%M}"
    return Plan(name=name, seed=schedule.seed + schedule.n_started, **planned)


def _last_due(schedule: Schedule, *, now: datetime) -> datetime | None:
    if schedule.once_at is not None:
        return schedule.once_at if schedule.once_at <= now else None
    return crontabs.parse(schedule.crontab, schedule.timezone, now=now).last(now=now)


def _started(schedule: Schedule, due: datetime) -> Tournament:
    """Return the new tournament. Raises BadInputError saying why there is none."""
    last = schedule.last_tournament
    if last is not None and last.state not in OVER:
        raise BadInputError("tournament", f"the one before, {last.pk}, is still {last.state}")
    return tournaments_service.schedule(
        _plan(schedule, due), leaderboard=schedule.leaderboard, agents=_agents(schedule)
    )


def _agents(schedule: Schedule) -> list[Agent]:
    chosen = list(schedule.agents.order_by("pk"))
    if chosen:
        return chosen
    on_board = Agent.objects.filter(rating__leaderboard=schedule.leaderboard_id)
    playing = on_board.filter(is_retired=False, quarantined_at=None)
    return list(playing.exclude(checkpoint__state=Checkpoint.State.REFUSED).order_by("pk"))


def _pass_over(schedule: Schedule, run: ScheduleRun, problem: str, *, now: datetime) -> None:
    log.warning("schedule %s was passed over: %s", schedule.pk, problem)
    ScheduleRun.objects.filter(pk=run.pk).update(problem=problem)
    Schedule.objects.filter(pk=schedule.pk).update(n_skipped=F("n_skipped") + 1, problem=problem)
    _note(schedule, "schedule.skip", {"problem": problem}, now=now)


def _note(schedule: Schedule, action: str, touched: dict[str, object], *, now: datetime) -> None:
    auditing.note(
        action, actor=auditing.CONTROL, targets=[schedule], reason="", touched=touched, now=now
    )


def _tell_beat(schedule: Schedule) -> None:
    """Write the row that beat reads, in the transaction of ours."""
    task = schedule.periodic_task or PeriodicTask()
    task.name = f"schedule {schedule.pk}: {schedule.name}"
    task.task = dispatch.SCHEDULE_TOURNAMENT
    task.queue = dispatch.CONTROL_QUEUE
    task.args = json.dumps([schedule.pk])
    task.enabled = schedule.is_enabled
    task.one_off = schedule.once_at is not None
    task.clocked, task.crontab = _clocked(schedule), _crontab(schedule)
    task.save()
    if schedule.periodic_task_id != task.pk:
        schedule.periodic_task = task
        schedule.save(update_fields=("periodic_task",))
    _forget_unused()


def _clocked(schedule: Schedule) -> ClockedSchedule | None:
    if schedule.once_at is None:
        return None
    return ClockedSchedule.objects.get_or_create(clocked_time=schedule.once_at)[0]


def _crontab(schedule: Schedule) -> CrontabSchedule | None:
    if schedule.once_at is not None:
        return None
    parts = dict(zip(crontabs.PARTS, crontabs.split(schedule.crontab), strict=True))
    return CrontabSchedule.objects.get_or_create(**parts, timezone=schedule.timezone)[0]


def _forget_unused() -> None:
    """Remove times at which nothing is due any more."""
    CrontabSchedule.objects.filter(periodictask=None).delete()
    ClockedSchedule.objects.filter(periodictask=None).delete()
