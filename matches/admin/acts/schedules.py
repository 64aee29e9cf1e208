"""What an operator does with schedules."""

from matches.admin.acts.base import Act, ChosenRow, ConfirmedRow, Effect, refuse_act
from matches.campaigns import scheduling
from matches.models import Schedule, Season, Tournament

CHANGE = "matches.change_schedule"


class Start(Act[Schedule]):
    """Start what a schedule starts, at once."""

    name, title, icon, permission = "start", "Start now", "play_arrow", CHANGE
    question = "Start what schedules start, now?"
    consequence = (
        "Each schedules one tournament at once, or begins one season, besides those of its own "
        "times. Cancelling that tournament ends it; matches that it has closed stay counted. A "
        "season that has ended stays as it was frozen."
    )
    counts = "matches"

    def preview_effect(self, chosen: ChosenRow[Schedule]) -> Effect:
        """Return what would be started."""
        row, last = chosen.row, chosen.row.last_tournament
        if last is not None and last.state not in Tournament.OVER:
            return refuse_act(f"the tournament before, {last.pk}, is still {last.state}")
        return Effect(_describe_schedule(row), n=row.n_matches or 0, seen=f"{row.n_started}")

    def perform_act(self, chosen: ConfirmedRow[Schedule]) -> str:
        started = scheduling.start_now(chosen.row, actor=chosen.actor, now=chosen.now)
        return f"{started} is frozen" if isinstance(started, Season) else f"{started} is scheduled"


class Enable(Act[Schedule]):
    """Let a schedule start tournaments again."""

    name, title, icon, permission = "enable", "Enable", "alarm_on", CHANGE
    question = "Enable schedules?"
    consequence = "They start tournaments again when they are due. Disabling them undoes it."

    def preview_effect(self, chosen: ChosenRow[Schedule]) -> Effect:
        """Return when it would be due."""
        if chosen.row.is_enabled:
            return refuse_act("it is enabled already")
        return Effect(_describe_schedule(chosen.row), seen=scheduling.describe_when(chosen.row))

    def perform_act(self, chosen: ConfirmedRow[Schedule]) -> str:
        scheduling.switch_schedule(chosen.row, is_enabled=True, actor=chosen.actor, now=chosen.now)
        return f"{chosen.row} is enabled"


class Disable(Act[Schedule]):
    """Let a schedule rest."""

    name, title, icon, permission = "disable", "Disable", "alarm_off", CHANGE
    question = "Disable schedules?"
    consequence = "They start nothing until they are enabled again; what they have started goes on."

    def preview_effect(self, chosen: ChosenRow[Schedule]) -> Effect:
        """Return what would not be started."""
        if not chosen.row.is_enabled:
            return refuse_act("it is disabled already")
        return Effect(_describe_schedule(chosen.row), seen=scheduling.describe_when(chosen.row))

    def perform_act(self, chosen: ConfirmedRow[Schedule]) -> str:
        scheduling.switch_schedule(chosen.row, is_enabled=False, actor=chosen.actor, now=chosen.now)
        return f"{chosen.row} is disabled"


class Remove(Act[Schedule]):
    """Take a schedule away."""

    name, title, icon = "delete", "Remove", "delete"
    permission = "matches.delete_schedule"
    question = "Remove schedules?"
    consequence = (
        "They are gone, with the list of the times at which they were due; their tournaments stay. "
        "This cannot be undone; disabling keeps them."
    )
    is_grave = True

    def preview_effect(self, chosen: ChosenRow[Schedule]) -> Effect:
        """Return what it has started."""
        return Effect(
            f"{_describe_schedule(chosen.row)}, started {chosen.row.n_started:,} tournaments"
        )

    def perform_act(self, chosen: ConfirmedRow[Schedule]) -> str:
        message = f"{chosen.row} is removed"
        scheduling.delete_schedule(chosen.row, actor=chosen.actor, now=chosen.now)
        return message


def _describe_schedule(schedule: Schedule) -> str:
    return f"{scheduling.describe_when(schedule)}: {scheduling.describe_what(schedule)}"


ACTS = (Start(), Enable(), Disable(), Remove())
