"""Schedules of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from evalsite_client.api.shared import Explanation, SeasonMode
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Schedule:
    """A schedule and what came of it; without agents it enters all of the leaderboard.

    crontab: Minute, hour, day of month, month, day of week; empty: once.
    timezone: Such as Europe/Berlin.
    once_at: Start once at this time, instead of a crontab.
    season: Begin a season in this way, instead of starting a tournament.
    n_matches: Of each tournament, or the budget of each campaign; none for a season.
    pairing: Who meets whom; empty: as suits the question, or double_round_robin.
    weight: Its share of the nodes against that of others that run at the same time.
    seed: Of the first tournament; each later one takes the next, so that no game recurs.
    error: The probability that the verdict may be wrong.
    margin: Agents closer than this in rating count as equal; 1 is about 45 Elo.
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
    n_matches: int | None
    pairing: str
    pairing_parameters: Mapping[str, Any]
    weight: int
    move_s: float
    match_s: float
    seed: int
    is_rated: bool
    keeps_trajectories: bool
    trajectory_days: int | None
    order_limit: int | None
    question: str
    error: float
    margin: float
    parameters: Mapping[str, Any]
    max_core_s: float | None
    max_money: float | None
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
    ) -> Rows[Schedule]:
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
        n_matches: int | None = None,
        pairing: str = "",
        pairing_parameters: Mapping[str, Any] | None = None,
        weight: int = 1,
        move_s: float = 10.0,
        match_s: float = 600.0,
        seed: int = 0,
        is_rated: bool = True,
        keeps_trajectories: bool = False,
        trajectory_days: int | None = None,
        order_limit: int | None = None,
        question: str = "",
        error: float = 0.05,
        margin: float = 0.0,
        parameters: Mapping[str, Any] | None = None,
        max_core_s: float | None = None,
        max_money: float | None = None,
        key: str | None = None,
    ) -> Schedule:
        """Add a schedule.

        agents: None: all of the leaderboard at that time, less those retired or quarantined.
        crontab: minute hour day-of-month month day-of-week, such as 30 4 * * 1.
        season: Begin a season in this way, instead of starting a tournament.
        n_matches: Of each tournament, or the budget of each campaign; none for a season.
        pairing: Who meets whom; empty: as suits the question, or double_round_robin.
        pairing_parameters: Of the pairing, such as {"best_of": 5}.
        weight: Its share of the nodes against that of others that run at the same time.
        move_s: Limit of a move, in seconds.
        match_s: Limit of a match, in seconds.
        seed: Of the first tournament; each later one takes the next, so that no game recurs.
        is_rated: Unrated outcomes change no rating; only then may an agent play itself.
        keeps_trajectories: Store observation, action, reward ... of every decision.
        trajectory_days: Delete them after so many days; empty: never.
        order_limit: The most matches a node takes at a time; empty: by how long they last.
        question: Ask this each time, as a campaign; empty: start a plain tournament.
        error: The probability that the verdict may be wrong.
        margin: Agents closer than this in rating count as equal; 1 is about 45 Elo.
        parameters: What the question needs, such as {"k": 3}; agents by name.
        max_core_s: The most core time it may use; empty: no limit.
        max_money: The most it may cost; empty: no limit.
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
                "n_matches": n_matches,
                "pairing": pairing,
                "pairing_parameters": pairing_parameters,
                "weight": weight,
                "move_s": move_s,
                "match_s": match_s,
                "seed": seed,
                "is_rated": is_rated,
                "keeps_trajectories": keeps_trajectories,
                "trajectory_days": trajectory_days,
                "order_limit": order_limit,
                "question": question,
                "error": error,
                "margin": margin,
                "parameters": parameters,
                "max_core_s": max_core_s,
                "max_money": max_money,
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
