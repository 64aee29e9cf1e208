"""Why a schedule has not started a tournament, a campaign or a season."""

from datetime import datetime

from matches.campaigns import scheduling
from matches.models import Schedule, Tournament
from matches.operations.explanations.presence import MAX_NAMED, list_held, read_presence
from matches.store.explanation import Explanation
from matches.store.formats import age_s, format_count


def of_schedule(schedule: Schedule, *, now: datetime) -> Explanation:
    """Return what a schedule waits for and what happens next. Its state is enabled or disabled."""
    last = schedule.runs.order_by("-due_at").first()
    due = scheduling.next_due(schedule, now=now)
    since = last.due_at if last else schedule.created_at
    name, next_step = _describe_start(schedule)
    if absent := _list_absent(schedule):
        next_step = "control passes it over, as long as its agents cannot play"
    state = f"starts {name}s" if schedule.is_enabled else "disabled: it starts nothing"
    passed_over = f"; the last time was passed over: {schedule.problem}" if schedule.problem else ""
    started = format_count(schedule.n_started, name)
    return Explanation(
        subject="schedule",
        id=schedule.pk,
        name=schedule.name,
        state="enabled" if schedule.is_enabled else "disabled",
        since=since,
        age_s=age_s(since, now=now),
        summary=f"{state}, {scheduling.describe_when(schedule)}{passed_over}",
        waits_for=(*absent, *_list_waits(schedule, due, now=now)),
        next="" if due is None else next_step,
        next_at=due,
        notes=(f"{started} started, {format_count(schedule.n_skipped, 'time')} passed over",),
    )


def _describe_start(schedule: Schedule) -> tuple[str, str]:
    """Return what it starts, and what control does then."""
    if schedule.season:
        return "season", "control freezes the leaderboard and begins a season"
    if schedule.question:
        return "campaign", "control starts a campaign from all that is known by then"
    return "tournament", "control schedules a tournament and plans it"


def _list_absent(schedule: Schedule) -> list[str]:
    """Return what has to be done about agents that it names and that may enter nothing now."""
    retired = schedule.agents.filter(is_retired=True).select_related("newer").order_by("pk")
    lines = []
    for agent in retired[:MAX_NAMED]:
        other = f"{agent.newer.name}, its newer version," if agent.newer else "another agent"
        lines.append(f"agent {agent.name} to be unretired, or {other} to be named in its place")
    n_more = retired.count() - len(lines)
    more = [f"{format_count(n_more, 'more agent')} to be unretired or replaced"] if n_more else []
    return [*lines, *more, *list_held(schedule.agents.filter(is_retired=False))]


def _list_waits(schedule: Schedule, due: datetime | None, *, now: datetime) -> list[str]:
    if not schedule.is_enabled:
        is_over = schedule.once_at is not None and schedule.n_started
        return [] if is_over else ["somebody to enable it"]
    missing = read_presence(now=now).list_missing_control()
    last = schedule.last_tournament
    if last is not None and last.state not in Tournament.OVER:
        missing.append(f"tournament {last.pk} to end: it is {last.shown_state}")
    return missing + ([] if due is None else [f"its time: {due:%Y-%m-%d %H:%M} UTC"])
