"""Worlds in which a game is won by a normal lead, of which any part may differ from the model's."""

from dataclasses import dataclass

import numpy as np

from arena.ratings.base import DEFAULT
from arena.ratings.counts import Floats, Ints
from benchmarks.campaigns.hard.base import HeadToHead, Times, expect_score, judge_leads
from benchmarks.campaigns.worlds import NOISE

_SEATS = np.array([1.0, -1.0])


@dataclass(frozen=True, eq=False)
class Probit(HeadToHead):
    """The lead of a game is the gap of the skills, what the block gives and the game's noise.

    truth: float64 [n], the skills. deviation: [n, n], antisymmetric, what a pair adds to its gap.
    noise: sd of the lead, margin: of draws, each one number or symmetric [n, n]. seat: what sitting
    first is worth. block_sd: of what both games of a block share. failing: [n], the share of its
    games that each agent forfeits. slowness: [n], how long a game lasts that the agent loses.
    """

    truth: Floats
    deviation: Floats | float = 0.0
    noise: Floats | float = NOISE
    margin: Floats | float = DEFAULT.draw_margin
    seat: float = 0.0
    block_sd: float = 0.0
    failing: Floats | float = 0.0
    slowness: Floats | float = 1.0

    @property
    def n_agents(self) -> int:
        return len(self.truth)

    def find_gaps(self, first: Ints, second: Ints, time: Times) -> Floats:  # noqa: ARG002
        """Return the mean lead of the first agents, whoever sits first: float64 [b]."""
        gaps = self.truth[first] - self.truth[second]
        return gaps + self._of_pairs(self.deviation, first, second)

    def draw_block_effects(
        self,
        first: Ints,
        second: Ints,  # noqa: ARG002
        time: Times,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> Floats:
        """Return what both games of each block add to the lead of its first agent."""
        return self.block_sd * rng.standard_normal(len(first))

    def play_blocks(self, first: Ints, second: Ints, time: Times, rng: np.random.Generator) -> Ints:
        lead = self.find_gaps(first, second, time)
        lead = lead + self.draw_block_effects(first, second, time, rng)
        noise = self._of_pairs(self.noise, first, second)[:, None]
        leads = lead[:, None] + self.seat * _SEATS + noise * rng.standard_normal((len(first), 2))
        scores = judge_leads(leads, self._of_pairs(self.margin, first, second)[:, None])
        return self._charge_forfeits(scores, first, second, rng)

    def expect_points(self, one: Ints, other: Ints, time: Times) -> Floats:
        gaps = self.find_gaps(one, other, time)
        sd = np.hypot(self._of_pairs(self.noise, one, other), self.block_sd)
        margin = self._of_pairs(self.margin, one, other)
        seated, unseated = (expect_score(gaps + seat, sd, margin) for seat in self.seat * _SEATS)
        played = (seated + unseated) / 2
        fails, others_fail = (
            self._of_agents(self.failing, one),
            self._of_agents(self.failing, other),
        )
        # Where both would fail, either may be the first to do so.
        won = others_fail * (1 - fails) + fails * others_fail / 2
        return (1 - fails) * (1 - others_fail) * played + won

    def find_lengths(self, first: Ints, second: Ints, scores: Ints) -> Floats:
        lost = self._of_agents(self.slowness, first)[:, None]
        others_lost = self._of_agents(self.slowness, second)[:, None]
        return np.where(scores < 0, lost, np.where(scores > 0, others_lost, 1.0))

    def _charge_forfeits(
        self, scores: Ints, first: Ints, second: Ints, rng: np.random.Generator
    ) -> Ints:
        """Let who fails lose; where both do, either may be the first."""
        fails = rng.random(scores.shape) < self._of_agents(self.failing, first)[:, None]
        others_fail = rng.random(scores.shape) < self._of_agents(self.failing, second)[:, None]
        coin = 2 * rng.integers(0, 2, scores.shape) - 1
        charged = np.where(fails & others_fail, coin, np.where(fails, -1, 1))
        return np.where(fails | others_fail, charged, scores)

    def _of_pairs(self, value: Floats | float, first: Ints, second: Ints) -> Floats:
        return np.broadcast_to(value, (self.n_agents, self.n_agents))[first, second]

    def _of_agents(self, value: Floats | float, agents: Ints) -> Floats:
        return np.broadcast_to(value, (self.n_agents,))[agents]
