"""What follows from the figures of an answer: base classes of the generated ones.

`./run manage write_client_api` makes the class X a child of XFigures where that stands here.
"""

from datetime import datetime
from typing import Final

from evalsite_client.api.shared import AgentName

EVEN: Final = 0.5
OVER: Final = ("done", "cancelled")
# A campaign that ended for another reason ended without an answer.
ANSWERS: Final = ("decided", "within_margin", "no_order")


class Planned:
    """A tournament or campaign, which may be played while it is planned."""

    state: str
    n_planned: int

    @property
    def shown_state(self) -> str:
        """Return its state in people's words: what is planned while it plays is running."""
        return "running" if self.state == "planning" and self.n_planned else self.state


class TournamentFigures(Planned):
    """How far a tournament is."""

    n_done: int
    n_void: int
    n_cancelled: int

    @property
    def n_closed(self) -> int:
        """Return how many matches have ended, in whatever way."""
        return self.n_done + self.n_void + self.n_cancelled

    @property
    def is_over(self) -> bool:
        """Return whether no more matches will be played."""
        return self.state in OVER


class CampaignFigures(Planned):
    """Whether a campaign has its answer."""

    why: str
    decided_at: datetime | None

    @property
    def is_over(self) -> bool:
        """Return whether it has ended, with an answer or without."""
        return self.decided_at is not None

    @property
    def is_answered(self) -> bool:
        """Return whether the question is answered as surely as was asked for."""
        return self.why in ANSWERS


class RatingFigures:
    """What a rating is worth."""

    mu: float
    low: float
    n_matches: int
    n_wins: int
    n_draws: int

    @property
    def conservative(self) -> float:
        """Return what the agent is worth almost certainly.

        Below mu by three standard deviations, as the lower part of the interval has them.
        """
        return self.mu - 3 / 1.96 * (self.mu - self.low)

    @property
    def win_share(self) -> float | None:
        """Return its points per match, a draw as half a one; None without matches."""
        return (self.n_wins + self.n_draws / 2) / self.n_matches if self.n_matches else None


class HeadToHeadFigures:
    """How often two agents met."""

    n_wins: int
    n_draws: int
    n_losses: int

    @property
    def n_matches(self) -> int:
        """Return how often they met."""
        return self.n_wins + self.n_draws + self.n_losses


class ComparisonFigures:
    """Who is ahead of two."""

    first: AgentName
    second: AgentName
    p_above: float

    @property
    def leader(self) -> AgentName:
        """Return the agent that is probably the better."""
        return self.first if self.p_above >= EVEN else self.second

    @property
    def certainty(self) -> float:
        """Return the probability that the leader is the better one: 0.5 to 1."""
        return max(self.p_above, 1 - self.p_above)

    @property
    def is_even(self) -> bool:
        """Return whether neither can be told to be better, to what is shown of a percentage."""
        return round(100 * self.p_above, 1) == 100 * EVEN
