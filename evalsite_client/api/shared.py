"""What several nouns share."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Placement = Literal["local", "gpu"]


@dataclass(frozen=True)
class Explanation:
    """Why something stands where it stands; `waits_for` is empty while nothing is missing.

    subject: match, tournament, campaign, agent, worker or schedule.
    next: What happens then; empty: nothing any more.
    """

    subject: str
    id: int
    name: str
    state: str
    since: datetime | None
    age_s: float | None
    summary: str
    waits_for: tuple[str, ...]
    next: str
    next_at: datetime | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AgentName:
    """An agent by id and name.

    name: Unique within the game.
    """

    id: int
    name: str


Ending = Literal["done", "forfeit", "failed", "interrupted", "expired"]


@dataclass(frozen=True)
class Attempt:
    """One try at a match that has ended.

    seat: Seat at fault; -1 for the platform.
    """

    number: int
    ending: Ending
    reason: str
    seat: int
    detail: str
    node: str
    was_executing: bool
    n_steps: int
    duration_ms: int
    ended_at: datetime


@dataclass(frozen=True)
class Season:
    """A season without its rows.

    n_counted: Outcomes behind the ratings.
    results_hash: Of those outcomes.
    spread: Fitted sd of skill.
    """

    id: int
    leaderboard: str
    name: str
    frozen_at: datetime
    actor: str
    reason: str
    n_agents: int
    n_counted: int
    results_hash: str
    spread: float | None


SeasonMode = Literal["reset", "carry"]


@dataclass(frozen=True)
class Outcome:
    """The one result of a match; rank 0 is the best, equal ranks are a draw, or mates of a team.

    ranks: Return the ranks by seat.
    actions: With the game seed they replay the match.
    trajectory: SHA-256 of the piece that holds its trajectories, if they are kept.
    """

    ranks: tuple[int, ...]
    is_forfeit: bool
    guilty_seat: int
    reason: str
    attempt: int
    actions: str
    trajectory: str
    recorded_at: datetime
