"""Worlds whose games depend on each other, or on when they are played."""

from dataclasses import dataclass, field
from math import exp, sqrt

import numpy as np
from scipy.signal import lfilter

from arena.ratings.base import BETA
from arena.ratings.counts import Floats, Ints
from benchmarks.campaigns.hard.base import SESSION, HeadToHead, Times, find_session
from benchmarks.campaigns.hard.probit import Probit
from benchmarks.campaigns.worlds import COUPLE

# Matches that the longest campaign may plan.
MOST_MATCHES = 20_000
# Blocks over which what neighbouring seeds share fades away.
RUN_LENGTH = 8.0


@dataclass(frozen=True, eq=False)
class Repeating(HeadToHead):
    """Deterministic agents: each pair, opening and seat has one result, drawn once.

    results: int64 [n, n, openings, 2], the score of the row agent in both games of a block.
    """

    results: Ints

    @classmethod
    def draw(cls, truth: Floats, n_openings: int, rng: np.random.Generator) -> "Repeating":
        """Draw the results from the rating model."""
        n, world = len(truth), Probit(truth)
        results = np.zeros((n, n, n_openings, COUPLE), np.int64)
        for first, second in zip(*np.triu_indices(n, 1), strict=True):
            pair = np.full(n_openings, first), np.full(n_openings, second)
            results[first, second] = world.play_blocks(*pair, 0.0, rng)
            # Game 0 of the one is game 1 of the other.
            results[second, first] = -results[first, second, :, ::-1]
        return cls(results)

    @property
    def n_agents(self) -> int:
        return len(self.results)

    def play_blocks(
        self,
        first: Ints,
        second: Ints,
        time: Times,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> Ints:
        opening = rng.integers(0, self.results.shape[2], len(first))
        return self.results[first, second, opening]

    def expect_points(self, one: Ints, other: Ints, time: Times) -> Floats:  # noqa: ARG002
        points: Floats = (self.results[one, other].mean(axis=(1, 2)) + 1) / 2
        return points


@dataclass(frozen=True, eq=False)
class SameWinner(Probit):
    """The seed decides: whoever gets the first game of a block gets the second one, too."""

    def play_blocks(self, first: Ints, second: Ints, time: Times, rng: np.random.Generator) -> Ints:
        scores = super().play_blocks(first, second, time, rng)
        return np.repeat(scores[:, :1], COUPLE, axis=1)


@dataclass(frozen=True, eq=False)
class Drifting(Probit):
    """Skills walk at random from session to session.

    walk: float64 [sessions, n], what each session adds to the skills.
    """

    walk: Floats = field(default_factory=lambda: np.zeros((1, 0)))

    @classmethod
    def draw(cls, truth: Floats, step: float, rng: np.random.Generator) -> "Drifting":
        """Draw a walk of normal steps of this sd."""
        steps = rng.normal(0, step, (MOST_MATCHES // SESSION, len(truth)))
        steps[0] = 0
        return cls(truth, walk=np.cumsum(steps, axis=0))

    def find_gaps(self, first: Ints, second: Ints, time: Times) -> Floats:
        session = np.minimum(find_session(time), len(self.walk) - 1)
        walked = self.walk[session, first] - self.walk[session, second]
        return super().find_gaps(first, second, time) + walked


@dataclass(frozen=True, eq=False)
class SeedRuns(Probit):
    """Neighbouring blocks are alike: each agent does better or worse on runs of similar seeds.

    liking: float64 [blocks, n], what the seed of each block adds to the skill of each agent.
    """

    liking: Floats = field(default_factory=lambda: np.zeros((1, 0)))

    @classmethod
    def draw(
        cls, truth: Floats, rng: np.random.Generator, *, is_scattered: bool = False
    ) -> "SeedRuns":
        """Draw an autoregression of sd beta; over all seeds its mean is 0.

        is_scattered: seeds are played in any order, not one after the other.
        """
        correlation = exp(-1 / RUN_LENGTH)
        shocks = rng.normal(
            0, BETA * sqrt(1 - correlation**2), (MOST_MATCHES // COUPLE, len(truth))
        )
        shocks[0] /= sqrt(1 - correlation**2)  # stationary from the start
        liking = lfilter([1.0], [1.0, -correlation], shocks, axis=0)
        played: Floats = np.asarray(liking, np.float64)
        if is_scattered:
            played = rng.permutation(played)
        return cls(truth, block_sd=sqrt(2) * BETA, liking=played)

    def draw_block_effects(
        self,
        first: Ints,
        second: Ints,
        time: Times,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> Floats:
        block = np.minimum(np.asarray(time) // COUPLE, len(self.liking) - 1).astype(np.int64)
        effects: Floats = self.liking[block, first] - self.liking[block, second]
        return effects
