"""Schedules: tournaments that start by crontab or once, without anybody asking."""

from collections.abc import Sequence
from datetime import datetime

from matches.models import Agent, Schedule, Tournament
from matches.services.auditing import Actor


def save(
    schedule: Schedule, *, agents: Sequence[Agent], actor: Actor, reason: str = "", now: datetime
) -> Schedule:
    """Add a schedule, or store what was changed in it, together with what beat reads.

    No agents: all of the leaderboard that are neither retired nor quarantined at that time.
    Raises BadInputError naming the field that is refused, such as a crontab that never is.
    """
    raise NotImplementedError


def switch(
    schedule: Schedule, *, is_enabled: bool, actor: Actor, reason: str = "", now: datetime
) -> bool:
    """Enable or disable a schedule; False when it was so before."""
    raise NotImplementedError


def delete(schedule: Schedule, *, actor: Actor, reason: str = "", now: datetime) -> None:
    """Remove a schedule; its tournaments stay."""
    raise NotImplementedError


def next_due(schedule: Schedule, *, now: datetime) -> datetime | None:
    """Return when it is due next; None when it is disabled or never will be."""
    raise NotImplementedError


def start_due(schedule_id: int, *, now: datetime) -> Tournament | None:
    """Schedule the tournament that is due; None when there is one already or it was passed over."""
    raise NotImplementedError
