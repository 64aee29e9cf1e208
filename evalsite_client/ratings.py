"""Ratings, their history, and comparisons of two agents."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from evalsite_client.names import AgentName

EVEN: Final = 0.5


@dataclass(frozen=True)
class Rating:
    """What is known of an agent on a leaderboard; low and high end the 95 % interval of mu."""

    rank: int
    agent: AgentName
    mu: float
    sd: float
    low: float
    high: float
    live_mu: float
    live_sigma: float
    n_matches: int
    n_wins: int
    n_draws: int
    n_losses: int
    n_forfeits: int

    @property
    def conservative(self) -> float:
        """Return what the agent is worth almost certainly: mu - 3 sd."""
        return self.mu - 3 * self.sd

    @property
    def win_share(self) -> float | None:
        """Return its points per match, a draw as half a one; None without matches."""
        return (self.n_wins + self.n_draws / 2) / self.n_matches if self.n_matches else None


@dataclass(frozen=True)
class Snapshot:
    """When the ratings of a leaderboard were kept."""

    taken_at: datetime
    n_outcomes: int
    results_hash: str


@dataclass(frozen=True)
class Point:
    """The rating of an agent at a moment."""

    taken_at: datetime
    n_outcomes: int
    mu: float
    sd: float
    live_mu: float
    live_sigma: float


@dataclass(frozen=True)
class Expected:
    """How the next match probably ends, as probabilities."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True)
class HeadToHead:
    """How the matches of two agents ended, for the first."""

    n_wins: int
    n_draws: int
    n_losses: int

    @property
    def n_matches(self) -> int:
        """Return how often they met."""
        return self.n_wins + self.n_draws + self.n_losses


@dataclass(frozen=True)
class Comparison:
    """The first agent against the second.

    p_above: the probability that the skill of the first is above that of the second.
    """

    first: AgentName
    second: AgentName
    p_above: float
    expected: Expected
    head_to_head: HeadToHead

    @property
    def leader(self) -> AgentName:
        """Return the one that is probably the better."""
        return self.first if self.p_above >= EVEN else self.second

    @property
    def certainty(self) -> float:
        """Return the probability that the leader is the better one: 0.5 to 1."""
        return max(self.p_above, 1 - self.p_above)
