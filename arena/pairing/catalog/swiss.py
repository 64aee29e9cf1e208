"""Swiss: in each round those with the same points meet, and nobody twice while that can be avoided.

A round begins when the one before is closed. With an odd number the lowest without a bye has one,
which counts as a win.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil, log2

import numpy as np

from arena.pairing.adaptive import AdaptiveCouples
from arena.pairing.base import Field, Lineup, Meeting, Standing
from arena.pairing.rematches import pair_without_rematches
from arena.parameters import Parameter

# The points of a block that is won.
_BYE = 2.0


class _Swiss(AdaptiveCouples):
    id = "swiss"
    title = "Swiss"
    needs_meetings = True
    goal = "the last round"
    parameters = (
        Parameter("rounds", 0, "rounds to play; 0: as many as a knockout would have", 0, 1000),
    )

    def least_blocks(self, field: Field) -> int:
        n_rounds = self.number("rounds") or ceil(log2(field.n_agents))
        return n_rounds * (field.n_agents // 2)

    def is_over(self, standing: Standing) -> bool:
        return len(standing.meetings) >= self.least_blocks(standing.field)

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        if self.is_over(standing):
            return []
        n_begun = len(standing.meetings) % _count_pairs_a_round(standing)
        before = standing.meetings[: len(standing.meetings) - n_begun]
        if any(meeting.points is None for meeting in before):
            return []
        return self._pair_round(standing, before, standing.meetings[len(before) :], rng)[:n_blocks]

    def _pair_round(
        self,
        standing: Standing,
        before: Sequence[Meeting],
        begun: Sequence[Meeting],
        rng: np.random.Generator,
    ) -> list[Lineup]:
        """Return the lineups of this round that are not planned yet."""
        n_agents = standing.field.n_agents
        n_byes, points = _count_byes_and_points(before, n_agents, _count_pairs_a_round(standing))
        paired = {agent for meeting in begun for agent in meeting.lineup}
        # Equal points and ratings are ordered by chance, not by who was registered first.
        place = {agent: at for at, agent in enumerate(rng.permutation(n_agents).tolist())}
        free = sorted(
            (agent for agent in range(n_agents) if agent not in paired),
            key=lambda agent: (-points[agent], -standing.mu[agent], place[agent]),
        )
        n_met = Counter(tuple(sorted(meeting.lineup)) for meeting in standing.meetings)
        lowest_first = free[::-1] if len(free) % 2 else []
        # A stable sort: of those with as few byes the lowest stays first.
        byes = sorted(lowest_first, key=lambda agent: n_byes[agent])
        return pair_without_rematches(free, n_met, byes)


def _count_pairs_a_round(standing: Standing) -> int:
    return standing.field.n_agents // 2


def _count_byes_and_points(
    meetings: Sequence[Meeting], n_agents: int, per_round: int
) -> tuple[Counter[int], Counter[int]]:
    """Return how many byes and points each agent has after these rounds, which are whole."""
    n_byes, points = Counter[int](), Counter[int]()
    for start in range(0, len(meetings), per_round):
        played = meetings[start : start + per_round]
        idle = set(range(n_agents)) - {agent for meeting in played for agent in meeting.lineup}
        # Who has no lineup in a whole round had its bye.
        n_byes.update(idle)
        points.update(dict.fromkeys(idle, _BYE))
        for meeting in played:
            points.update(dict(zip(meeting.lineup, meeting.points or (), strict=True)))
    return n_byes, points


PAIRING = _Swiss()
