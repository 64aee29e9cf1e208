"""What all hard worlds share: blocks of two games, sessions, and who is really better.

Who is better is told head to head, by the expected points of a game over both seats and all seeds.
A forfeit is a lost game there: who fails is charged.
"""

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np
from scipy.special import ndtr

from arena.ratings.counts import Floats, Ints
from arena.verdicts.scale import gap_of_score

# When a block was planned, in matches planned before it; one moment or one of each block.
Times = float | Floats
# Matches of a session, what is played about the same time. Of a fixed length, as days do not grow
# with what is known; so short that a usual campaign about the best, of some 66, sees a second one.
SESSION = 50
# A difference of expected points that is no more than rounding.
_ROUNDING = 1e-9


def find_session(time: Times) -> Ints:
    """Return the number of the session of each time, from 0."""
    return (np.asarray(time) // SESSION).astype(np.int64)


class Leads(Protocol):
    """Who of some agents is better, head to head."""

    @property
    def n_agents(self) -> int: ...

    def find_lead(self, one: int, other: int, time: float) -> float:
        """Return by how much, as a gap in rating, one is better than the other then, or 0."""
        ...


class HardWorld(Leads, Protocol):
    """Agents whose results a rating model may not describe, and who of them is better."""

    def play_blocks(self, first: Ints, second: Ints, time: Times, rng: np.random.Generator) -> Ints:
        """Return the scores, 1, 0 or -1, of the agent `first` in both games: int64 [b, 2].

        In game 0 it sits in the first seat, in game 1 in the second.
        """
        ...

    def find_lengths(self, first: Ints, second: Ints, scores: Ints) -> Floats:
        """Return how long each game of these blocks lasts, a usual one 1: float64 [b, 2]."""
        ...


class HeadToHead(ABC):
    """A world that knows the expected points of any two agents."""

    @property
    @abstractmethod
    def n_agents(self) -> int: ...

    @abstractmethod
    def play_blocks(
        self, first: Ints, second: Ints, time: Times, rng: np.random.Generator
    ) -> Ints: ...

    @abstractmethod
    def expect_points(self, one: Ints, other: Ints, time: Times) -> Floats:
        """Return the expected points 0..1 of a game over both seats, pair by pair: float64 [b]."""

    def find_lengths(self, first: Ints, second: Ints, scores: Ints) -> Floats:  # noqa: ARG002
        return np.ones(scores.shape)

    def find_lead(self, one: int, other: int, time: float) -> float:
        """Return the gap that makes the expected points under the rating model; may be infinite."""
        return find_gap(float(self.expect_points(np.array([one]), np.array([other]), time)[0]))


def find_gap(points: float) -> float:
    """Return the gap that makes these expected points, or 0 of no more than a half."""
    if points <= 0.5 + _ROUNDING:
        return 0.0
    return gap_of_score(points) if points < 1 else float("inf")


def judge_leads(lead: Floats, margin: Floats | float) -> Ints:
    """Return the score of each game: a lead within the margin is a draw."""
    return np.where(np.abs(lead) < margin, 0, np.sign(lead)).astype(np.int64)


def expect_score(gap: Floats, sd: Floats | float, margin: Floats | float) -> Floats:
    """Return the expected points of a game whose lead is N(gap, sd^2)."""
    points: Floats = (ndtr((gap - margin) / sd) + ndtr((gap + margin) / sd)) / 2
    return points
