"""Recommendations of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass
from typing import Literal

from evalsite_client.api.shared import AgentName
from evalsite_client.calls import Calls

RecommendationPurpose = Literal["opponent", "teacher"]


Measure = Literal["rating", "mean_score"]


@dataclass(frozen=True)
class Measured:
    """A rating or a mean score; low and high end its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Meeting:
    """How another agent compares with who asks.

    lead: Of the other one, in ratings or mean scores.
    low: Lower end of the 95 % interval of the lead.
    high: Upper end.
    p_stronger: P(the other one is the stronger); both ratings count as independent.
    share: The part of the points that can be won against it; null in a game of one seat.
    share_low: At the upper end of the lead.
    share_high: At the lower end of the lead.
    quality: Of a match, 0 to 1: 1 for two that are known to be equal.
    """

    lead: float
    low: float
    high: float
    p_stronger: float
    share: float | None
    share_low: float | None
    share_high: float | None
    quality: float


@dataclass(frozen=True)
class Recommended:
    """An agent that fits, and why.

    checkpoint: Of its weights, by SHA-256.
    """

    agent: AgentName
    checkpoint: str | None
    strength: Measured
    n_matches: int
    meeting: Meeting
    why: str


@dataclass(frozen=True)
class Recommendation:
    """Who is recommended, the best first.

    leaderboard: Whose ratings are compared.
    measure: What strengths are.
    own: Of who asks.
    rule: By which they are chosen.
    none: Why nobody is recommended; empty where somebody is.
    """

    game: str
    leaderboard: str
    purpose: RecommendationPurpose
    measure: Measure
    own: Measured
    rule: str
    recommended: tuple[Recommended, ...]
    none: str


class Recommendations(Calls):
    """Return who fits an agent, or somebody of a given strength, and why."""

    def get(
        self,
        game: str,
        *,
        agent: int | None = None,
        leaderboard: str | None = None,
        limit: int | None = None,
        purpose: RecommendationPurpose | None = None,
        rating: float | None = None,
    ) -> Recommendation:
        """Return one recommendation.

        agent: By id; it must play the game.
        leaderboard: Without it that on which the agent has played most, or the first of the
            game.
        purpose: opponent: about as strong; teacher: surely stronger, and not out of reach.
        rating: Instead of an agent; in a game of one seat a mean score.
        """
        return self._get(
            Recommendation,
            "recommendations",
            {
                "agent": agent,
                "game": game,
                "leaderboard": leaderboard,
                "limit": limit,
                "purpose": purpose,
                "rating": rating,
            },
        )
