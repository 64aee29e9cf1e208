"""Schedules: tournaments, campaigns and seasons that start by crontab or once, unasked."""

import json
import logging
from collections.abc import Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import F
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, PeriodicTask

from matches import dispatch
from matches.artifacts.agents import to_bad_input
from matches.campaigns import crontabs, starting
from matches.errors import BadInputError
from matches.ledger import tournaments as tournaments_service
from matches.models import Agent, Checkpoint, Schedule, ScheduleRun, Season, Tournament
from matches.models.choices import SeasonMode
from matches.models.validation import replace_unprintable
from matches.options import options_of
from matches.plans import CampaignPlan, TournamentPlan, scheduled_names
from matches.ratings import seasons
from matches.ratings.seasons import MAX_NAME
from matches.store import auditing
from matches.store.auditing import Actor

log = logging.getLogger(__name__)

# Its options that a tournament takes, and a campaign; the budget of one in matches is n_matches.
# Each tournament has a seed of its own, and each campaign one that replays nothing.
PLANNED, ASKED = scheduled_names(TournamentPlan), scheduled_names(CampaignPlan)
NOT_OF_CAMPAIGNS = [
    option
    for option in options_of(TournamentPlan)
    if option.name in PLANNED and option.name not in (*ASKED, "n_matches", "is_rated")
]
OF_QUESTIONS = [name for name in ASKED if name not in (*PLANNED, "question")]
# Of a tournament without a question, if none is named.
PAIRING = "double_round_robin"
MAX_PROBLEM = 300
_STAMP = " 2026-01-01 12:00"


@transaction.atomic
def save_schedule(
    schedule: Schedule, *, agents: Sequence[Agent], actor: Actor, reason: str = "", now: datetime
) -> Schedule:
    """Add a schedule, or store what was changed in it, together with what beat reads.

    No agents: all of the leaderboard that are neither retired nor quarantined at that time.
    Raises BadInputError naming the field that is refused, such as a crontab that never is due.
    """
    is_new = schedule.pk is None
    if is_new:
        schedule.created_at = now
    schedule.since_at = now
    if not (schedule.pairing or schedule.question):
        schedule.pairing = PAIRING
    _check_schedule(schedule, agents, now=now)
    try:
        with transaction.atomic():
            schedule.save()
    except IntegrityError as error:
        # Somebody else may have saved one of that name since it was looked for.
        if not Schedule.objects.filter(name=schedule.name).exclude(pk=schedule.pk).exists():
            raise
        problem = f"there is a schedule {schedule.name!r} already: choose another name"
        raise BadInputError("name", problem) from error
    schedule.agents.set(agents)
    _update_beat(schedule)
    touched = {
        "when": describe_when(schedule),
        "n_agents": len(agents),
        "n_matches": schedule.n_matches,
    }
    action = "schedule.add" if is_new else "schedule.change"
    auditing.add_audit_row(
        action, actor=actor, targets=[schedule], reason=reason, touched=touched, now=now
    )
    return schedule


@transaction.atomic
def switch_schedule(
    schedule: Schedule, *, is_enabled: bool, actor: Actor, reason: str = "", now: datetime
) -> bool:
    """Enable or disable a schedule; False when it was so before."""
    other = Schedule.objects.filter(pk=schedule.pk, is_enabled=not is_enabled)
    if not other.update(is_enabled=is_enabled, since_at=now):
        return False
    schedule.refresh_from_db()
    if is_enabled and schedule.once_at is not None and schedule.once_at <= now:
        raise BadInputError("once_at", f"{schedule.once_at:%Y-%m-%d %H:%M} UTC is over")
    _update_beat(schedule)
    action = "schedule.enable" if is_enabled else "schedule.disable"
    auditing.add_audit_row(
        action, actor=actor, targets=[schedule], reason=reason, touched={}, now=now
    )
    return True


@transaction.atomic
def delete_schedule(schedule: Schedule, *, actor: Actor, reason: str = "", now: datetime) -> None:
    """Remove a schedule; its tournaments stay."""
    touched = {"when": describe_when(schedule), "n_started": schedule.n_started}
    auditing.add_audit_row(
        "schedule.delete", actor=actor, targets=[schedule], reason=reason, touched=touched, now=now
    )
    # Ours first: it refers to the row that beat reads.
    task = schedule.periodic_task
    schedule.delete()
    if task is not None:
        task.delete()
        _delete_unused_times()


def describe_when(schedule: Schedule) -> str:
    """Return the time of a schedule as people read it."""
    if schedule.once_at is not None:
        return f"once at {schedule.once_at:%Y-%m-%d %H:%M} UTC"
    return f"{schedule.crontab} ({schedule.timezone})"


def describe_what(schedule: Schedule) -> str:
    """Return what a schedule starts as people read it."""
    if schedule.season:
        return f"a season of {schedule.leaderboard} ({schedule.season})"
    n_matches = f"{schedule.n_matches or 0:,} matches on {schedule.leaderboard}"
    return f"{schedule.question} within {n_matches}" if schedule.question else n_matches


def next_due(schedule: Schedule, *, now: datetime) -> datetime | None:
    """Return when it is due next; None when it is disabled or never will be."""
    if not schedule.is_enabled:
        return None
    if schedule.once_at is not None:
        return schedule.once_at if schedule.once_at > now else None
    return crontabs.parse_crontab(schedule.crontab, schedule.timezone, now=now).next(now=now)


def last_due(schedule: Schedule, *, now: datetime) -> datetime | None:
    """Return when it was due last, enabled or not; None when it never was."""
    if schedule.once_at is not None:
        return schedule.once_at if schedule.once_at <= now else None
    return crontabs.parse_crontab(schedule.crontab, schedule.timezone, now=now).last(now=now)


@transaction.atomic
def start_due(schedule_id: int, *, now: datetime) -> Tournament | Season | None:
    """Start what is due; None when that was done already or it was passed over.

    However often and late it is called for a time at which it was due: one tournament, or one
    season that ends, or one reason why there is none. Raises ConflictError, and has changed
    nothing, while the ratings of a season that ends are being computed: call it again then.
    """
    locked = Schedule.objects.select_for_update().filter(pk=schedule_id, is_enabled=True)
    schedule = locked.first()
    due = last_due(schedule, now=now) if schedule else None
    # By the minute, as crontabs: what is due in the minute in which it was made is started.
    if not schedule or not due or due < schedule.created_at.replace(second=0, microsecond=0):
        log.warning("schedule %s is not due: nothing is started", schedule_id)
        return None
    # The row of this time is what makes it once: beat and the look at overdue ones both come here.
    run, is_new = ScheduleRun.objects.get_or_create(schedule=schedule, due_at=due)
    if not is_new:
        return None
    try:
        # A savepoint: what was refused half-way leaves nothing.
        with transaction.atomic():
            started = _start_schedule(schedule, due, actor=auditing.CONTROL, now=now)
    except BadInputError as error:
        _note_skip(schedule, run, str(error)[:MAX_PROBLEM], now=now)
        return None
    _store_start(schedule, run, started)
    Schedule.objects.filter(pk=schedule.pk).update(is_enabled=schedule.once_at is None)
    _audit_run(schedule, "schedule.start", _describe_start(started), now=now)
    return started


def _note_skip(schedule: Schedule, run: ScheduleRun, problem: str, *, now: datetime) -> None:
    """Write down why nothing was started at the time of a run."""
    log.warning("schedule %s was passed over: %s", schedule.pk, problem)
    ScheduleRun.objects.filter(pk=run.pk).update(problem=problem)
    skipped = {"n_skipped": F("n_skipped") + 1, "problem": problem}
    Schedule.objects.filter(pk=schedule.pk).update(**skipped)
    _audit_run(schedule, "schedule.skip", {"problem": problem}, now=now)


@transaction.atomic
def start_now(
    schedule: Schedule, *, actor: Actor, reason: str = "", now: datetime
) -> Tournament | Season:
    """Start what a schedule would, besides the times at which it is due, and return it.

    Raises BadInputError while the tournament before goes on, and where it cannot be; ConflictError
    while the ratings of a season that ends are being computed.
    """
    schedule = Schedule.objects.select_for_update().get(pk=schedule.pk)
    started = _start_schedule(schedule, now, actor=actor, now=now)
    run = ScheduleRun.objects.create(schedule=schedule, due_at=now)
    _store_start(schedule, run, started)
    touched = _describe_start(started)
    auditing.add_audit_row(
        "schedule.start", actor=actor, targets=[schedule], reason=reason, touched=touched, now=now
    )
    return started


def _check_schedule(schedule: Schedule, agents: Sequence[Agent], *, now: datetime) -> None:
    _check_time(schedule, now=now)
    try:
        schedule.full_clean()
    except ValidationError as error:
        raise to_bad_input(error) from error
    if schedule.season:
        if schedule.question:
            raise BadInputError("question", "leave it empty: it begins a season, not a campaign")
        if schedule.n_matches is not None or agents:
            name = "agents" if agents else "n_matches"
            raise BadInputError(name, "leave it empty: it begins a season of the whole leaderboard")
    elif schedule.n_matches is None:
        raise BadInputError("n_matches", "say how many matches each tournament has at most")
    elif schedule.question:
        _check_campaign(schedule, agents, now=now)
    else:
        _check_tournament(schedule, agents, now=now)


def _check_time(schedule: Schedule, *, now: datetime) -> None:
    if bool(schedule.crontab) == (schedule.once_at is not None):
        raise BadInputError("crontab", "give a crontab, or once_at for a single time: not both")
    if schedule.once_at is None:
        crontabs.parse_crontab(schedule.crontab, schedule.timezone, now=now)
    elif schedule.once_at <= now and schedule.is_enabled:
        raise BadInputError("once_at", f"{schedule.once_at:%Y-%m-%d %H:%M} UTC is over")


def _check_campaign(schedule: Schedule, agents: Sequence[Agent], *, now: datetime) -> None:
    """Refuse what campaigns have not, and what agents that are named cannot be asked."""
    for option in NOT_OF_CAMPAIGNS:
        if getattr(schedule, option.name) != option.default:
            raise BadInputError(option.name, "leave it empty: campaigns do without")
    if not schedule.is_rated:
        raise BadInputError("is_rated", "a question is answered by ratings: leave it rated")
    if agents:
        board = schedule.leaderboard
        tournaments_service.check_agents(board, agents)
        try:
            starting.check_plan(_plan_campaign(schedule, now), leaderboard=board, agents=agents)
        except BadInputError as error:
            field = "n_matches" if error.field == "max_matches" else error.field
            raise BadInputError(field, error.reason) from error


def _check_tournament(schedule: Schedule, agents: Sequence[Agent], *, now: datetime) -> None:
    """Refuse what is of a question alone, and what cannot be played."""
    usual = Schedule()
    for name in OF_QUESTIONS:
        if getattr(schedule, name) != getattr(usual, name):
            raise BadInputError(name, "it belongs to a question: name one, or leave it out")
    plan, board = _plan_tournament(schedule, now), schedule.leaderboard
    tournaments_service.check_plan(plan, leaderboard=board)
    # Without names it takes who is there when it is due: nothing to check before.
    if agents:
        tournaments_service.check_agents(board, agents, is_rated=schedule.is_rated)
        tournaments_service.check_field(plan, board, len(agents))


def _plan_tournament(schedule: Schedule, due: datetime) -> TournamentPlan:
    planned = {name: getattr(schedule, name) for name in PLANNED}
    return TournamentPlan(
        name=_make_name(schedule, due), seed=schedule.seed + schedule.n_started, **planned
    )


def _plan_campaign(schedule: Schedule, due: datetime) -> CampaignPlan:
    """Return what the next campaign asks; it takes a seed of its own, to learn something new."""
    options = {name: getattr(schedule, name) for name in ASKED}
    return CampaignPlan(
        name=_make_name(schedule, due), max_matches=schedule.n_matches or 0, **options
    )


def _make_name(schedule: Schedule, due: datetime) -> str:
    shortened = replace_unprintable(schedule.name[: MAX_NAME - len(_STAMP)])
    return f"{shortened} {due:%Y-%m-%d %H:%M}"


def _start_schedule(
    schedule: Schedule, due: datetime, *, actor: Actor, now: datetime
) -> Tournament | Season:
    """Return the new tournament, or the season that ended.

    Raises BadInputError saying why there is none; ConflictError if there will be in a moment.
    """
    board = schedule.leaderboard
    if schedule.season:
        mode = SeasonMode(schedule.season)
        return seasons.begin(board, _make_name(schedule, due), mode=mode, actor=actor, now=now)
    last = schedule.last_tournament
    if last is not None and last.state not in Tournament.OVER:
        raise BadInputError("tournament", f"the one before, {last.pk}, is still {last.state}")
    agents = list(schedule.agents.order_by("pk"))
    if not agents:
        on_board = Agent.objects.filter(rating__leaderboard=board)
        playing = on_board.filter(is_retired=False, quarantined_at=None)
        agents = list(playing.exclude(checkpoint__state=Checkpoint.State.REFUSED).order_by("pk"))
    if schedule.question:
        plan = _plan_campaign(schedule, due)
        return starting.start_campaign(plan, leaderboard=board, agents=agents).tournament
    return tournaments_service.schedule_tournament(
        _plan_tournament(schedule, due), leaderboard=board, agents=agents
    )


def _store_start(schedule: Schedule, run: ScheduleRun, started: Tournament | Season) -> None:
    is_season = isinstance(started, Season)
    what_started = {"season": started} if is_season else {"tournament": started}
    ScheduleRun.objects.filter(pk=run.pk).update(**what_started)
    last = {} if is_season else {"last_tournament": started}
    Schedule.objects.filter(pk=schedule.pk).update(n_started=F("n_started") + 1, problem="", **last)


def _describe_start(started: Tournament | Season) -> dict[str, object]:
    """Return what was started, for the audit."""
    return {"season" if isinstance(started, Season) else "tournament": started.pk}


def _audit_run(
    schedule: Schedule, action: str, touched: dict[str, object], *, now: datetime
) -> None:
    auditing.add_audit_row(
        action, actor=auditing.CONTROL, targets=[schedule], reason="", touched=touched, now=now
    )


def _update_beat(schedule: Schedule) -> None:
    """Write the row that beat reads, in the transaction of ours."""
    task = schedule.periodic_task or PeriodicTask()
    task.name = f"schedule {schedule.pk}: {schedule.name}"
    task.task = dispatch.SCHEDULE_TOURNAMENT
    task.queue = dispatch.CONTROL_QUEUE
    task.args = json.dumps([schedule.pk])
    task.enabled = schedule.is_enabled
    task.one_off = schedule.once_at is not None
    task.clocked = task.crontab = None
    if schedule.once_at is not None:
        task.clocked = ClockedSchedule.objects.get_or_create(clocked_time=schedule.once_at)[0]
    else:
        parts = dict(zip(crontabs.PARTS, crontabs.split_crontab(schedule.crontab), strict=True))
        crontab = CrontabSchedule.objects.get_or_create(**parts, timezone=schedule.timezone)
        task.crontab = crontab[0]
    task.save()
    if schedule.periodic_task_id != task.pk:
        schedule.periodic_task = task
        schedule.save(update_fields=("periodic_task",))
    _delete_unused_times()


def _delete_unused_times() -> None:
    """Remove times at which nothing is due any more."""
    CrontabSchedule.objects.filter(periodictask=None).delete()
    ClockedSchedule.objects.filter(periodictask=None).delete()
