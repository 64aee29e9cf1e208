"""The skill game as a hard world: its results follow rules of their own."""

from dataclasses import dataclass

import numpy as np

from arena.games.catalog.skill_game import MAX_RAND_PROB, MAX_TIE_PROB, RATING_RANGE
from arena.ratings.counts import Floats, Ints
from benchmarks.campaigns.hard.base import HeadToHead, Times
from benchmarks.campaigns.worlds import Seed


@dataclass(frozen=True, eq=False)
class SkillLevels(HeadToHead):
    """levels: int64 [n], what each agent plays; some may be equal."""

    levels: Ints

    @property
    def n_agents(self) -> int:
        return len(self.levels)

    def play_blocks(self, first: Ints, second: Ints, time: Times, rng: np.random.Generator) -> Ints:  # noqa: ARG002
        game = Seed(self.levels.astype(np.float64))
        there, back = game.play_matches(first, second, rng), game.play_matches(second, first, rng)
        return np.stack([there, -back], axis=1)

    def expect_points(self, one: Ints, other: Ints, time: Times) -> Floats:  # noqa: ARG002
        lead = (self.levels[one] - self.levels[other]) / RATING_RANGE
        gap = np.abs(lead)
        turned = np.maximum(MAX_RAND_PROB - gap, 0)
        tied = np.clip(MAX_TIE_PROB - gap, 0, 1)
        # Of equals the first one wins as if it were better, and each sits first as often.
        points: Floats = 0.5 + np.sign(lead) * (0.5 - turned * (1 - tied / 2))
        return points
