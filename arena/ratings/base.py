"""What every rating system shares: the constants of the model, results, ratings and errors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isfinite, sqrt
from statistics import NormalDist
from typing import NamedTuple, Protocol

from arena.errors import ArenaError
from arena.teams import NO_TEAMS, Teams, are_mates

MU = 25.0
"""The rating of an agent of which nothing is known."""
SIGMA = 25 / 3
"""The doubt about an agent of which nothing is known."""
BETA = 25 / 6
"""The standard deviation of one performance: a gap of beta wins about 76 % of the matches."""
DRAW_PROBABILITY = 0.10
"""How often two equal agents draw."""

MIN_SEATS = 2
"""A result compares at least two agents."""


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
    """A score that is none of 1, 0 and -1."""

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
    performance_variance: float = field(init=False, repr=False)
    """The variance that two performances add to the difference of two skills."""
    draw_margin: float = field(init=False, repr=False)
    """Performances closer than this are a draw."""

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


DEFAULT = Constants()


class Rating(NamedTuple):
    """How strong an agent is (mu) and how unsure that is (sigma)."""

    mu: float
    sigma: float

    @property
    def conservative(self) -> float:
        """The skill that the agent has almost surely: mu - 3 sigma."""
        return self.mu - 3 * self.sigma


@dataclass(frozen=True)
class Result:
    """How one match ended: its agents by seat and their ranks, 0 the best, equal ranks a draw.

    teams: the team of each seat; empty: each for itself.
    """

    lineup: tuple[int, ...]
    ranks: tuple[int, ...]
    teams: Teams = NO_TEAMS

    def __post_init__(self) -> None:
        """Refuse fewer than two seats, another number of ranks and an agent named twice."""
        check_lineup(self.lineup, self.ranks)

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """Every pair of opponents as (first, second, score), in the order of the seats."""
        return list(pairwise(self.lineup, self.ranks, self.teams))


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


def pairwise(
    lineup: Sequence[int], ranks: Sequence[int], teams: Teams = NO_TEAMS
) -> Iterator[tuple[int, int, int]]:
    """Yield (first, second, score) for every pair of opponents; k seats without teams k(k-1)/2."""
    seats = list(zip(lineup, ranks, strict=True))
    for (seat, (first, rank)), (place, (second, other)) in combinations(enumerate(seats), 2):
        if not are_mates(teams, seat, place):
            yield first, second, (rank < other) - (rank > other)


class RatingSystem(Protocol):
    """A way to make ratings from results; a file of this folder offers one as SYSTEM."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def title(self) -> str:
        """What a person reads."""
        ...

    def rate(self, n_agents: int, results: Sequence[Result]) -> list[Rating]:
        """Return the rating of each agent 0..n_agents-1 after these results. Raises RatingError."""
        ...
