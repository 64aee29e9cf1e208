"""Between which ranks an agent may stand.

By the sd, which bears on the order: the interval of a rating also says how far apart all are, which
nobody knows of a field whose agents always win or lose.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.ratings.base import Z95
from matches.models import Leaderboard, Rating

Floats = NDArray[np.float64]
_N_KEPT = 8


class RankRange(NamedTuple):
    """The rank by rating, and the best and worst rank that are left open at 95 %."""

    rank: int
    best: int
    worst: int

    def __str__(self) -> str:
        return f"{self.best}" if self.best == self.worst else f"{self.best}-{self.worst}"


class Ladder(NamedTuple):
    """Mu less and plus 1.96 sd of all agents that have played, each in ascending order."""

    lows: Floats
    highs: Floats

    def place(self, rank: int, mu: float, sd: float) -> RankRange:
        """Return the ranks that are left open to an agent of the ladder.

        Surely above it are those all of which lies above its own. Its own rank is always
        among them, also while the ladder is older than the rating.
        """
        low, high = mu - Z95 * sd, mu + Z95 * sd
        if not (n := len(self.lows)):
            return RankRange(rank, rank, rank)
        best = 1 + n - int(np.searchsorted(self.lows, high, side="right"))
        worst = n - int(np.searchsorted(self.highs, low, side="left"))
        return RankRange(rank, min(best, rank), max(worst, rank))


def find_rank_ranges(board_id: int, agents: Collection[int]) -> dict[int, RankRange]:
    """Return the ranks of these agents on a leaderboard: one query that reads the field once."""
    played = Rating.objects.filter(leaderboard=board_id, n_matches__gt=0)
    rows = list(played.order_by("-mu", "agent_id").values_list("agent_id", "mu", "sd"))
    ladder, chosen_agents = build_ladder([row[1:] for row in rows]), set(agents)
    return {
        agent: ladder.place(rank, mu, sd)
        for rank, (agent, mu, sd) in enumerate(rows, 1)
        if agent in chosen_agents
    }


def read_ladder(board: Leaderboard) -> Ladder:
    """Return the ladder of a board, read anew when it was rated again."""
    if board.rated_at is None:
        return build_ladder([])
    return _read_ladder(board.pk, board.rated_at, board.results_hash, board.n_settled)


@lru_cache(maxsize=_N_KEPT)
def _read_ladder(board_id: int, _rated_at: datetime, _hash: str, _n_settled: int) -> Ladder:
    played = Rating.objects.filter(leaderboard=board_id, n_matches__gt=0)
    return build_ladder(list(played.values_list("mu", "sd")))


def build_ladder(ratings: Sequence[tuple[float, float]]) -> Ladder:
    """Return the ladder of these ratings: mu and sd of each agent."""
    pairs = np.array(ratings, np.float64).reshape(-1, 2)
    half = Z95 * pairs[:, 1]
    return Ladder(np.sort(pairs[:, 0] - half), np.sort(pairs[:, 0] + half))
