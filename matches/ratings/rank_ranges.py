"""Between which ranks an agent may stand: its rank says more than its interval allows alone."""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from arena.ratings.base import Z95
from matches.models import Rating


class RankRange(NamedTuple):
    """The rank by rating, and the best and worst rank that the 95 % intervals leave open."""

    rank: int
    best: int
    worst: int

    def __str__(self) -> str:
        return f"{self.best}" if self.best == self.worst else f"{self.best}-{self.worst}"


def find_rank_ranges(board_id: int, agents: Collection[int]) -> dict[int, RankRange]:
    """Return the ranks of these agents on a leaderboard: one query that reads the field once.

    Surely above an agent are those whose whole interval lies above its own.
    """
    ranked = Rating.objects.filter(leaderboard=board_id).order_by("-mu", "agent_id")
    rows = list(ranked.values_list("agent_id", "mu", "sd"))
    ratings = np.array([row[1:] for row in rows]).reshape(-1, 2)
    low, high = ratings[:, 0] - Z95 * ratings[:, 1], ratings[:, 0] + Z95 * ratings[:, 1]
    lows, highs = np.sort(low), np.sort(high)
    wanted = set(agents)
    return {
        agent: RankRange(
            rank=place + 1,
            best=1 + len(rows) - int(np.searchsorted(lows, high[place], side="right")),
            worst=len(rows) - int(np.searchsorted(highs, low[place], side="left")),
        )
        for place, (agent, _, _) in enumerate(rows)
        if agent in wanted
    }
