"""Games of four seats, each for itself or in teams of two: performances of the rating model."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.ratings.base import BETA
from arena.ratings.counts import Floats, Ints

N_SEATS = 4


class PlayedRanks(NamedTuple):
    """Matches of several seats.

    lineups, ranks: int64 [m, k], the best rank 0; team mates, who sit side by side, share one.
    team_size: 1 where each plays for itself.
    """

    lineups: Ints
    ranks: Ints
    team_size: int

    @property
    def n_matches(self) -> int:
        return len(self.lineups)


@dataclass(frozen=True, eq=False)
class Seats:
    """Agents of the rating model in matches of four seats, without draws."""

    truth: Floats
    team_size: int = 1
    # All but the winner share the last rank.
    has_equal_losers: bool = False

    def play_matches(self, n_per_agent: int, rng: np.random.Generator) -> PlayedRanks:
        """Return matches of random lineups, of each agent so many on the average."""
        n = len(self.truth)
        n_matches = -(-n * n_per_agent // N_SEATS)
        lineups = np.stack([rng.permutation(n)[:N_SEATS] for _ in range(n_matches)])
        performed = self.truth[lineups] + BETA * rng.standard_normal(lineups.shape)
        sides = performed.reshape(n_matches, -1, self.team_size).sum(axis=2)
        ranks = np.argsort(np.argsort(-sides, axis=1), axis=1)
        if self.has_equal_losers:
            ranks = np.minimum(ranks, 1)
        return PlayedRanks(lineups, np.repeat(ranks, self.team_size, axis=1), self.team_size)
