"""Groups: as in a league, play is inside groups, which are made anew; then semi-finals and a final.

Between stages the agents are sorted by one sample of the posterior and cut into groups in that
order. So agents are shuffled as far as their order is in doubt: neighbours whose ratings are close
change groups, those far apart do not.
"""

from itertools import chain, zip_longest

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Field, Lineup, Standing
from arena.pairing.catalog.double_round_robin import PAIRING as ROUND_ROBIN
from arena.parameters import Parameter

_SEED_LIMIT = 2**32


class _Groups(Adaptive):
    id = "groups"
    title = "Groups and finals"
    needs_meetings = True
    goal = "the final"
    parameters = (
        Parameter("group_size", 8, "agents of a group, at least", 2, 1000),
        Parameter("rounds", 4, "rounds in a group before the groups are made anew", 1, 1000),
        Parameter("stages", 3, "how often groups are made before the semi-finals", 1, 1000),
        Parameter("finalists", 4, "agents of each semi-final and of the final", 2, 1000),
    )

    def least_blocks(self, field: Field) -> int:
        return sum(self._count_lineups(field))

    def is_over(self, standing: Standing) -> bool:
        return len(standing.meetings) >= self.least_blocks(standing.field)

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        # Groups are made from ratings, so a stage begins when all that was planned has a result.
        if any(meeting.points is None for meeting in standing.meetings):
            return []
        n_played = len(standing.meetings)
        for sizes, n_lineups in zip(
            self._group_sizes(standing.field), self._count_lineups(standing.field), strict=True
        ):
            if n_played < n_lineups:
                # A stage that was cut short goes on in new groups.
                left = min(n_lineups - n_played, n_blocks)
                return self._pair_stage(standing, sizes, rng)[:left]
            n_played -= n_lineups
        return []

    def _pair_stage(
        self, standing: Standing, sizes: list[int], rng: np.random.Generator
    ) -> list[Lineup]:
        """Return the lineups of groups of these sizes, a lineup of each group in turn."""
        sample = standing.mu + standing.sd * rng.standard_normal(len(standing.mu))
        ranked = np.argsort(-sample).tolist()
        n_seats = standing.field.n_seats
        lineups_by_group: list[list[Lineup]] = []
        for size in sizes:
            group, ranked = ranked[:size], ranked[size:]
            seed, n_lineups = int(rng.integers(_SEED_LIMIT)), self._lineups_per_group(size, n_seats)
            places = ROUND_ROBIN.pair(Field(size, n_seats), n_lineups, seed=seed)
            lineups_by_group.append([tuple(group[place] for place in lineup) for lineup in places])
        # So that a stage cut short by the budget is cut short in all groups alike.
        in_turn = chain.from_iterable(zip_longest(*lineups_by_group))
        return [lineup for lineup in in_turn if lineup is not None]

    def _group_sizes(self, field: Field) -> list[list[int]]:
        """Return the sizes of the groups of each stage, best first."""
        n = field.n_agents
        least = max(self.number("group_size"), field.n_seats)
        n_groups = max(1, n // least)
        groups = [n // n_groups + (place < n % n_groups) for place in range(n_groups)]
        n_final = min(max(self.number("finalists"), field.n_seats), n)
        semifinals = [[n_final, n_final]] if 2 * n_final < n else []
        return [groups] * self.number("stages") + semifinals + [[n_final]]

    def _count_lineups(self, field: Field) -> list[int]:
        return [
            sum(self._lineups_per_group(size, field.n_seats) for size in sizes)
            for sizes in self._group_sizes(field)
        ]

    def _lineups_per_group(self, size: int, n_seats: int) -> int:
        return self.number("rounds") * (size // n_seats)


PAIRING = _Groups()
