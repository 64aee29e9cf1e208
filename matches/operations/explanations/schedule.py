"""Why a schedule has not started a tournament, a campaign or a season."""

from datetime import datetime

from matches.campaigns import scheduling
from matches.models import Schedule, Tournament
from matches.operations.explanations.presence import read_presence
from matches.store.explanation import Explanation, age_s, format_count


def of_schedule(schedule: Schedule, *, now: datetime) -> Explanation:
    """Return what a schedule waits for and what happens next. Its state is enabled or disabled."""
    last = schedule.runs.order_by("-due_at").first()
    due = scheduling.next_due(schedule, now=now)
    since = last.due_at if last else schedule.created_at
    return Explanation(
        subject="schedule",
        id=schedule.pk,
        name=schedule.name,
        state="enabled" if schedule.is_enabled else "disabled",
        since=since,
        age_s=age_s(since, now=now),
        summary=_summary(schedule),
        waits_for=tuple(_list_waits(schedule, due, now=now)),
        next="" if due is None else _next(schedule),
        next_at=due,
        notes=(_came_of_it(schedule),),
    )


def _next(schedule: Schedule) -> str:
    if schedule.season:
        return "control freezes the leaderboard and begins a season"
    if schedule.question:
        return "control starts a campaign from all that is known by then"
    return "control schedules a tournament and plans it"


def _name_started(schedule: Schedule) -> str:
    if schedule.season:
        return "season"
    return "campaign" if schedule.question else "tournament"


def _summary(schedule: Schedule) -> str:
    starts = f"starts {_name_started(schedule)}s"
    state = starts if schedule.is_enabled else "disabled: it starts nothing"
    passed_over = f"; the last time was passed over: {schedule.problem}" if schedule.problem else ""
    return f"{state}, {scheduling.when(schedule)}{passed_over}"


def _list_waits(schedule: Schedule, due: datetime | None, *, now: datetime) -> list[str]:
    if not schedule.is_enabled:
        is_over = schedule.once_at is not None and schedule.n_started
        return [] if is_over else ["somebody to enable it"]
    missing = read_presence(now=now).missing_control()
    last = schedule.last_tournament
    if last is not None and last.state not in Tournament.OVER:
        missing.append(f"tournament {last.pk} to end: it is {last.shown_state}")
    return missing + ([] if due is None else [f"its time: {due:%Y-%m-%d %H:%M} UTC"])


def _came_of_it(schedule: Schedule) -> str:
    started = format_count(schedule.n_started, _name_started(schedule))
    return f"{started} started, {format_count(schedule.n_skipped, 'time')} passed over"
