"""Schedules of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from evalsite_client.api.shared import Explanation, SeasonMode
from evalsite_client.calls import Calls


@dataclass(frozen=True)
class Schedule:
    """A schedule and what came of it; without agents it enters all of the leaderboard.

    crontab: minute hour day-of-month month day-of-week; empty: once.
    timezone: Of the crontab.
    once_at: When, instead of a crontab.
    season: Begin a season of the leaderboard so, and start no tournament.
    error: The probability that the verdict may be wrong.
    margin: A gap in rating that makes no difference; 1 is some 45 points of Elo.
    seed: Of the first tournament; each later one takes the next, so that no game recurs.
    pairing: Empty: the one that suits the question; without one, double_round_robin.
    n_matches: Of each tournament, or the budget of each campaign; a season has none.
    weight: Its share of the nodes against that of others that run at the same time.
    next_at: Return when it is due next; empty: never.
    problem: Why the last time was passed over.
    """

    id: int
    name: str
    leaderboard: str
    agents: tuple[int, ...]
    crontab: str
    timezone: str
    once_at: datetime | None
    is_enabled: bool
    season: SeasonMode | Literal[""]
    question: str
    error: float
    margin: float
    parameters: Mapping[str, Any]
    max_core_s: float | None
    max_money: float | None
    seed: int
    pairing: str
    pairing_parameters: Mapping[str, Any]
    n_matches: int | None
    weight: int
    move_s: float
    match_s: float
    is_rated: bool
    keeps_trajectories: bool
    trajectory_days: int | None
    order_limit: int | None
    next_at: datetime | None
    last_tournament: int | None
    n_started: int
    n_skipped: int
    problem: str
    created_at: datetime


class Schedules(Calls):
    """Schedules, the newest first."""

    def list(
        self,
        *,
        is_enabled: bool | None = None,
        leaderboard: str | None = None,
        page_size: int | None = None,
    ) -> Iterator[Schedule]:
        """Yield schedules, fetched page by page as they are asked for."""
        return self._rows(
            Schedule,
            "schedules",
            {"is_enabled": is_enabled, "leaderboard__name": leaderboard, "page_size": page_size},
        )

    def add(
        self,
        *,
        name: str,
        leaderboard: str,
        reason: str = "",
        agents: Sequence[int] | None = None,
        crontab: str = "",
        timezone: str = "UTC",
        once_at: datetime | None = None,
        is_enabled: bool = True,
        season: SeasonMode | Literal[""] = "",
        question: str = "",
        error: float = 0.05,
        margin: float = 0.0,
        parameters: Mapping[str, Any] | None = None,
        max_core_s: float | None = None,
        max_money: float | None = None,
        n_matches: int | None = None,
        pairing: str = "",
        pairing_parameters: Mapping[str, Any] | None = None,
        weight: int = 1,
        seed: int = 0,
        move_s: float | None = None,
        match_s: float | None = None,
        is_rated: bool = True,
        keeps_trajectories: bool = False,
        trajectory_days: int | None = None,
        order_limit: int | None = None,
        key: str | None = None,
    ) -> Schedule:
        """Add a schedule.

        agents: None: all of the leaderboard at that time, less those retired or quarantined.
        crontab: minute hour day-of-month month day-of-week, such as 30 4 * * 1.
        season: Begin a season of the leaderboard so, and start no tournament.
        parameters: Of the question; agents by name.
        n_matches: Of each tournament, or the budget of each campaign; a season has none.
        pairing: Empty: the one that suits the question; without one, double_round_robin.
        """
        return self._post(
            Schedule,
            "schedules",
            {
                "reason": reason,
                "name": name,
                "leaderboard": leaderboard,
                "agents": agents,
                "crontab": crontab,
                "timezone": timezone,
                "once_at": once_at,
                "is_enabled": is_enabled,
                "season": season,
                "question": question,
                "error": error,
                "margin": margin,
                "parameters": parameters,
                "max_core_s": max_core_s,
                "max_money": max_money,
                "n_matches": n_matches,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "weight": weight,
                "seed": seed,
                "move_s": move_s,
                "match_s": match_s,
                "is_rated": is_rated,
                "keeps_trajectories": keeps_trajectories,
                "trajectory_days": trajectory_days,
                "order_limit": order_limit,
            },
            key=key,
        )

    def get(self, schedule: int) -> Schedule:
        """Return one schedule."""
        return self._get(Schedule, f"schedules/{schedule}")

    def remove(self, schedule: int) -> None:
        """Remove a schedule; its tournaments stay."""
        self._transport.delete(f"schedules/{schedule}")

    def disable(self, schedule: int, *, reason: str = "", key: str | None = None) -> Schedule:
        """Let it start nothing until it is enabled."""
        return self._post(Schedule, f"schedules/{schedule}/disable", {"reason": reason}, key=key)

    def enable(self, schedule: int, *, reason: str = "", key: str | None = None) -> Schedule:
        """Let it start tournaments again."""
        return self._post(Schedule, f"schedules/{schedule}/enable", {"reason": reason}, key=key)

    def explain(self, schedule: int) -> Explanation:
        """Say in which state it is, since when, what it waits for and what happens next."""
        return self._get(Explanation, f"schedules/{schedule}/explanation")
