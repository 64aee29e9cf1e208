"""Commands of schedules: list, add, enable, disable, remove."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace, _SubParsersAction
from collections.abc import Callable
from datetime import datetime

from evalsite_client.api.schedules import Schedule
from evalsite_client.cli.flags import add_plan_flags, plan_from_flags
from evalsite_client.cli.options import (
    add_command,
    add_limit,
    add_reason,
    page_size,
    read_whole,
    take_rows,
)
from evalsite_client.cli.run_agents import find_entrants
from evalsite_client.cli.show import Answer, format_pairs, format_table
from evalsite_client.client import Client

HEAD = ("id", "name", "leaderboard", "starts", "when", "next", "enabled", "started", "passed over")
MODES = ("reset", "carry")


def add_commands(commands: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    listed = add_command(commands, "schedules", show_schedules)
    listed.add_argument("-l", "--leaderboard")
    listed.add_argument("--enabled", action="store_true", help="only those that start something")
    add_limit(listed)
    _add_schedule_at(commands)
    for name, run in (("enable", enable_schedule), ("disable", disable_schedule)):
        switched = add_command(commands, name, run, examples=f"  evalsite {name} 2")
        switched.add_argument("schedule", type=read_whole(1), metavar="ID")
        add_reason(switched, is_required=False)
    removed = add_command(
        commands, "unschedule", remove_schedule, examples="  evalsite unschedule 2"
    )
    removed.add_argument("schedule", type=read_whole(1), metavar="ID")


def _add_schedule_at(commands: "_SubParsersAction[ArgumentParser]") -> None:
    new = add_command(
        commands,
        "schedule-at",
        add_schedule,
        examples='  evalsite schedule-at -l connect-four --name weekly -n 9 --crontab "0 4 * * 1"\n'
        '  evalsite schedule-at -l connect-four --name best --crontab "0 5 * * *" -n 500 -q best '
        "--margin 1\n"
        "  evalsite schedule-at -l connect-four --name once --once 2027-01-01T04:00:00Z -n 60 3 7",
    )
    new.add_argument(
        "agents", nargs="*", metavar="AGENT", help="id, name or RUN@*; none: all of the leaderboard"
    )
    new.add_argument("-l", "--leaderboard", required=True)
    new.add_argument("--name", required=True, help="of the schedule")
    when = new.add_mutually_exclusive_group(required=True)
    when.add_argument("--crontab", default="", help="minute hour day-of-month month day-of-week")
    when.add_argument(
        "--once", type=_read_moment, metavar="TIME", help="such as 2027-01-01T04:00:00Z"
    )
    new.add_argument("--timezone", default="UTC", help="of the crontab (%(default)s)")
    kind = new.add_mutually_exclusive_group()
    kind.add_argument("-q", "--question", default="", help="start campaigns: best, top_k, ...")
    kind.add_argument("--season", choices=MODES, default="", help="begin seasons")
    add_plan_flags(new, "schedule", leave_out=("question",))
    add_reason(new, is_required=False)


def show_schedules(client: Client, options: Namespace) -> Answer:
    """List schedules, the newest first."""
    schedules = client.schedules.list(
        leaderboard=options.leaderboard,
        is_enabled=options.enabled or None,
        page_size=page_size(options),
    )
    shown_schedules = take_rows(schedules, options)
    return Answer(
        shown_schedules, format_table(HEAD, [_make_row(schedule) for schedule in shown_schedules])
    )


def add_schedule(client: Client, options: Namespace) -> Answer:
    """Start tournaments, campaigns or seasons by crontab, or one at a time."""
    game = client.leaderboards.get(options.leaderboard).game
    entered = find_entrants(client, options.agents, game=game)
    added = client.schedules.add(
        name=options.name,
        leaderboard=options.leaderboard,
        agents=[agent.id for agent in entered],
        crontab=options.crontab,
        timezone=options.timezone,
        once_at=options.once,
        season=options.season,
        reason=options.reason,
        **plan_from_flags(options, "schedule"),
    )
    return _show_schedule(added)


def enable_schedule(client: Client, options: Namespace) -> Answer:
    """Let a schedule start tournaments again."""
    return _switch_schedule(client.schedules.enable, options)


def disable_schedule(client: Client, options: Namespace) -> Answer:
    """Let a schedule start nothing until it is enabled."""
    return _switch_schedule(client.schedules.disable, options)


def remove_schedule(client: Client, options: Namespace) -> Answer:
    """Remove a schedule; its tournaments stay."""
    client.schedules.remove(options.schedule)
    return Answer({"removed": options.schedule}, f"schedule {options.schedule} is removed")


def _switch_schedule(switch: Callable[..., Schedule], options: Namespace) -> Answer:
    return _show_schedule(switch(options.schedule, reason=options.reason))


def _show_schedule(schedule: Schedule) -> Answer:
    shown = dict(zip(HEAD, _make_row(schedule), strict=True))
    return Answer(schedule, format_pairs({**shown, "problem": schedule.problem}))


def _make_row(schedule: Schedule) -> list[object]:
    when = schedule.once_at or f"{schedule.crontab} ({schedule.timezone})"
    starts = f"season ({schedule.season})" if schedule.season else schedule.question or "tournament"
    cells = (schedule.id, schedule.name, schedule.leaderboard, starts, when, schedule.next_at)
    return [*cells, schedule.is_enabled, schedule.n_started, schedule.n_skipped]


def _read_moment(text: str) -> datetime:
    """Return a time with its offset from UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ArgumentTypeError(f"{text!r} is no time such as 2027-01-01T04:00:00Z")
    return moment
