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
class Pass:
    """A pass; it is shown this once.

    token: For `Authorization: Bearer ...`, of a server for its hello. Empty when the call is
        repeated under its idempotency key.
    """

    token: str | None
    expires_at: datetime


@dataclass(frozen=True)
class AgentName:
    """An agent by id and name.

    name: Unique within the game.
    """

    id: int
    name: str


@dataclass(frozen=True)
class Alarm:
    """An agent that is probably worse than its best ancestor by more than the margin.

    margin: In units of rating.
    level: The probability from which it is an alarm.
    """

    id: int
    agent: AgentName
    ancestor: AgentName
    campaign: int
    leaderboard: str
    probability: float
    margin: float
    level: float
    at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str


Ending = Literal["done", "forfeit", "failed", "interrupted", "expired"]


@dataclass(frozen=True)
class Attempt:
    """One try at a match that has ended.

    seat: Seat at fault; -1 for the platform.
    server: The game server that played it; empty where the node did.
    """

    number: int
    ending: Ending
    reason: str
    seat: int
    detail: str
    node: str
    server: str
    was_executing: bool
    n_steps: int
    duration_ms: int
    ended_at: datetime


@dataclass(frozen=True)
class Strength:
    """A difference in points of Elo, with its interval of 95 %."""

    elo: float
    low: float
    high: float


@dataclass(frozen=True)
class Pairs:
    """What the paired blocks of a sequential test say, for the first of the two agents.

    blocks: With 0, 1/2, 1, 3/2 and 2 points of two games.
    score: The mean, 0 to 1.
    split: Draw ratio: the share of blocks of 1 point each.
    elo: Logistic.
    normalised: Normalised Elo; null while all blocks are alike.
    los: Likelihood of superiority: P(the first is better).
    """

    blocks: tuple[int, ...]
    n_blocks: int
    score: float
    split: float
    elo: Strength
    normalised: Strength | None
    los: float


@dataclass(frozen=True)
class ForecastCost:
    """What the matches to the verdict cost; null while nothing was measured.

    core_s: Seconds of cores of play nodes.
    gpu_s: Seconds of gpu workers, reckoned by the steps of the newest matches and the time of
        one row of their networks alone on a core; batches on a GPU may take less.
    wall_s: Seconds on the clock.
    money: By the prices of the settings.
    """

    core_s: float | None
    gpu_s: float
    wall_s: float | None
    money: float | None


@dataclass(frozen=True)
class ForecastMore:
    """What some more matches would change: a probability or, of a sequential test, its ratio.

    now: Probability of the likeliest answer now; null for a test.
    then: And after these matches, as is to be expected.
    verdict: The chance that they bring the verdict.
    llr_now: Log-likelihood ratio of a sequential test now.
    llr_then: And after these matches, as is to be expected.
    """

    n_matches: int
    now: float | None
    then: float | None
    verdict: float
    llr_now: float | None
    llr_then: float | None


@dataclass(frozen=True)
class Forecast:
    """How many more matches the verdict takes, played forward in thought; at most 10^6.

    matches: The median.
    low: 10 % of the cases take fewer.
    high: 10 % of the cases take more.
    decided: The share of the cases that end before 10^6.
    accepted: The share of the cases in which a sequential test ends accepted; else null.
    round_robin: The median if every pair played as often; null for a sequential test.
    """

    matches: float
    low: float
    high: float
    decided: float
    accepted: float | None
    round_robin: float | None
    cost: ForecastCost
    more: ForecastMore


@dataclass(frozen=True)
class Column:
    """A column of the files."""

    name: str
    type: str


Form = Literal["csv", "parquet", "pgn"]


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
    returns: By seat; null after a forfeit.
    actions: With the game seed they replay the match.
    trajectory: SHA-256 of the piece that holds its trajectories, if they are kept.
    """

    ranks: tuple[int, ...]
    returns: tuple[float, ...] | None
    is_forfeit: bool
    guilty_seat: int
    reason: str
    attempt: int
    actions: str
    trajectory: str
    recorded_at: datetime


TrainingRunState = Literal["running", "done", "stopped", "failed"]
