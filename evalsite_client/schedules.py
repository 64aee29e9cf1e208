"""Schedules: tournaments, campaigns and seasons that start by crontab or once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Required, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.explanations import Explained
from evalsite_client.pages import rows
from evalsite_client.plans import NewPlan, Plan, on_leaderboard

MaybeMode = Literal["reset", "carry", ""]


@dataclass(frozen=True)
class Schedule(Plan):
    """A schedule and what came of it; without agents it enters all of the leaderboard."""

    id: int
    name: str
    leaderboard: str
    agents: tuple[int, ...]
    crontab: str
    timezone: str
    once_at: datetime | None
    is_enabled: bool
    season: MaybeMode
    question: str
    error: float
    margin: float
    parameters: Mapping[str, Any]
    max_core_s: float | None
    max_money: float | None
    n_matches: int | None
    next_at: datetime | None
    last_tournament: int | None
    n_started: int
    n_skipped: int
    problem: str
    created_at: datetime


class NewSchedule(NewPlan, total=False):
    """A schedule to add: the leaderboard by name, the agents by id, a crontab or a single time.

    agents: none for all of the leaderboard at that time. question: start campaigns. season: reset
    or carry, to begin seasons, which have neither n_matches nor agents.
    """

    name: Required[str]
    leaderboard: Required[str]
    n_matches: int | None
    season: MaybeMode
    question: str
    error: float
    margin: float
    parameters: Mapping[str, Any]
    max_core_s: float | None
    max_money: float | None
    agents: Sequence[int]
    crontab: str
    timezone: str
    once_at: datetime | None
    is_enabled: bool
    reason: str


class ScheduleFilter(TypedDict, total=False):
    """Which schedules to list; leaderboard: its name."""

    leaderboard: str
    is_enabled: bool


class Schedules(Explained):
    """Schedules: list, look at, add, enable, disable, remove."""

    path = "schedules"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[ScheduleFilter]
    ) -> Iterator[Schedule]:
        """Yield schedules, the newest first."""
        query = {**on_leaderboard(wanted), "page_size": page_size}
        return rows(self._transport, self.path, Schedule, query)

    def get(self, schedule: int) -> Schedule:
        """Return one schedule."""
        return decode(Schedule, self._transport.get(f"{self.path}/{schedule}"))

    def add(self, *, key: str | None = None, **wanted: Unpack[NewSchedule]) -> Schedule:
        """Add a schedule."""
        return decode(Schedule, self._transport.post(self.path, wanted, key=key))

    def enable(self, schedule: int, *, reason: str = "", key: str | None = None) -> Schedule:
        """Let it start tournaments again."""
        return self._switched(schedule, "enable", reason, key)

    def disable(self, schedule: int, *, reason: str = "", key: str | None = None) -> Schedule:
        """Let it start nothing until it is enabled."""
        return self._switched(schedule, "disable", reason, key)

    def remove(self, schedule: int) -> None:
        """Remove a schedule; its tournaments stay."""
        self._transport.delete(f"{self.path}/{schedule}")

    def _switched(self, schedule: int, change: str, reason: str, key: str | None) -> Schedule:
        path, body = f"{self.path}/{schedule}/{change}", {"reason": reason}
        return decode(Schedule, self._transport.post(path, body, key=key))
