"""What all ratings share: the constants of the model, results and errors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt
from statistics import NormalDist

from arena.errors import ArenaError

# The rating of an agent of which nothing is known.
MU = 25.0
# The doubt about an agent of which nothing is known.
SIGMA = 25 / 3
# The standard deviation of one performance: a gap of beta wins about 76 % of the matches.
BETA = 25 / 6
# How often two equal agents draw.
DRAW_PROBABILITY = 0.10
# How sure shown intervals are: in words, and as half their width in standard deviations
# of a normal distribution. Pages write the first beside what they compute by the second.
INTERVAL = "95 %"
# Of the skills of a field: what a fit may come to.
MIN_SPREAD, MAX_SPREAD = 0.5, 40.0
Z95 = 1.959964

# A result compares at least two agents.
MIN_SEATS = 2


class RatingError(ArenaError):
    """A result or a constant that no rating can be made from."""


class SelfPlayError(RatingError):
    """An agent met itself: such a match says nothing about it and never rates."""

    def __init__(self, agent: int) -> None:
        """Keep the index of the agent."""
        self.agent = agent
        super().__init__(f"agent {agent} is named twice in one result: self-play never rates")


class DrawWithoutDrawProbabilityError(RatingError):
    """There is a draw, and the draw probability says that there are none."""

    def __init__(self) -> None:
        """Say what to change."""
        super().__init__("a draw cannot be rated with draw_probability 0: choose one above 0")


class ScoreError(RatingError):
    """A score other than 1, 0 and -1."""

    def __init__(self, score: object) -> None:
        """Keep the score that was refused."""
        self.score = score
        super().__init__(f"score must be 1 (first wins), 0 (draw) or -1, got {score!r}")


class UnknownAgentError(RatingError):
    """An agent index outside of the field."""

    def __init__(self, agent: int, n_agents: int) -> None:
        """Keep the index that was refused and the size of the field."""
        self.agent, self.n_agents = agent, n_agents
        super().__init__(f"agent {agent} is not in the field: choose one of 0..{n_agents - 1}")


@dataclass(frozen=True)
class Constants:
    """What is fixed about the model; tau is 0, because an agent's version does not change."""

    beta: float = BETA
    draw_probability: float = DRAW_PROBABILITY
    # The variance that two performances add to the difference of two skills.
    performance_variance: float = field(init=False, repr=False)
    # Performances closer than this are a draw.
    draw_margin: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse values out of range; derive the rest."""
        if not (isfinite(self.beta) and self.beta > 0):
            raise RatingError(f"beta must be finite and above 0, got {self.beta!r}")
        margin = unit_draw_margin(self.draw_probability) * sqrt(2) * self.beta
        object.__setattr__(self, "performance_variance", 2 * self.beta**2)
        object.__setattr__(self, "draw_margin", margin)


def unit_draw_margin(draw_probability: float) -> float:
    """Return the draw margin in standard deviations of a performance difference.

    Raises RatingError unless 0 <= draw_probability < 1.
    """
    if not 0 <= draw_probability < 1:
        raise RatingError(f"draw_probability must be 0 <= p < 1, got {draw_probability!r}")
    return NormalDist().inv_cdf((draw_probability + 1) / 2)


def probability_of_margin(margin: float) -> float:
    """Return the draw probability of equal agents under a margin as above, 0 or more."""
    return 2 * NormalDist().cdf(margin) - 1


DEFAULT = Constants()


def check_lineup(lineup: Sequence[int], ranks: Sequence[int], n_agents: int | None = None) -> None:
    """Raise RatingError unless two or more distinct agents (of a field) have a rank each."""
    if len(lineup) < MIN_SEATS or len(lineup) != len(ranks):
        raise RatingError(
            f"a result needs two or more agents and a rank for each, got {tuple(lineup)} with "
            f"ranks {tuple(ranks)}"
        )
    for agent in lineup:
        if n_agents is not None and not 0 <= agent < n_agents:
            raise UnknownAgentError(agent, n_agents)
        if lineup.count(agent) > 1:
            raise SelfPlayError(agent)
