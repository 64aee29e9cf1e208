"""Simulated fields: agents whose truth is known, and how their matches end."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arena.games.catalog.skill_game import MAX_RAND_PROB, MAX_TIE_PROB, RATING_RANGE
from arena.ratings.base import BETA, DEFAULT, MU, SIGMA
from arena.ratings.counts import Floats, Ints

CLOSE = SIGMA / 4
"""The spread of the checkpoints of one run."""
_NOISE = float(np.sqrt(2) * BETA)


class World(Protocol):
    """A field."""

    @property
    def truth(self) -> Floats:
        """How good each agent is, in a unit of its own: float64 [n]."""
        ...

    def ahead(self, one: int, other: int) -> float:
        """Return by how much, as a gap in rating, one agent is better than the other, or 0."""
        ...

    def play(self, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
        """Return the score of each match: 1 first wins, 0 draw, -1 second wins."""
        ...


@dataclass(frozen=True, eq=False)
class Normal:
    """TrueSkill's own model."""

    truth: Floats

    def ahead(self, one: int, other: int) -> float:
        """Return it in the unit of the truth, which is that of the ratings."""
        return max(0.0, float(self.truth[one] - self.truth[other]))

    def play(self, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
        """Compare two performances; close ones are a draw."""
        lead = self.truth[first] - self.truth[second] + rng.normal(0, _NOISE, len(first))
        return np.where(np.abs(lead) < DEFAULT.draw_margin, 0, np.sign(lead)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Seed:
    """The skill game: its rules on random numbers of our own, many matches at once."""

    truth: Floats

    def ahead(self, one: int, other: int) -> float:
        """Return 0 or infinity: one level wins 74 % of the points, more than any margin."""
        return float("inf") if self.truth[one] > self.truth[other] else 0.0

    def play(self, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
        """Let the better level win, unless the coin turns: see arena.games.catalog.skill_game."""
        gap = np.abs(self.truth[first] - self.truth[second]) / RATING_RANGE
        expected = np.where(self.truth[first] >= self.truth[second], 1, -1)
        is_random, is_tie = rng.random((2, len(gap)))
        turned = np.where(is_tie < MAX_TIE_PROB - gap, 0, -expected)
        return np.where(is_random >= MAX_RAND_PROB - gap, expected, turned).astype(np.int64)


def gauss(n_agents: int, rng: np.random.Generator) -> World:
    """Return a field as TrueSkill expects it."""
    return Normal(rng.normal(MU, SIGMA, n_agents))


def close(n_agents: int, rng: np.random.Generator) -> World:
    """Return the checkpoints of one run."""
    return Normal(rng.normal(MU, CLOSE, n_agents))


def seed(n_agents: int, rng: np.random.Generator) -> World:
    """Return levels of the skill game, some of them equal."""
    return Seed(rng.integers(0, RATING_RANGE, n_agents).astype(np.float64))


def equal(n_agents: int, rng: np.random.Generator) -> World:
    """Return a field as TrueSkill expects it, but with two equal best agents."""
    truth = np.sort(rng.normal(MU, SIGMA, n_agents))
    truth[-2] = truth[-1]
    return Normal(rng.permutation(truth))


WORLDS = {"gauss": gauss, "close": close, "seed": seed, "equal": equal}
