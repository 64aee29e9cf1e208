"""Groups: as in a league, play is inside groups, which are made anew; then semi-finals and a final.

Between stages the agents are sorted by one sample of the posterior and cut into groups in that
order. So agents are shuffled as far as their order is in doubt: neighbours whose ratings are close
change groups, those far apart do not.
"""

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Field, Lineup, Standing
from arena.pairing.catalog.double_round_robin import PAIRING as ROUND_ROBIN
from arena.pairing.stages import GroupRules, take_in_turn
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
            self.rules().list_sizes(standing.field),
            self._count_lineups(standing.field),
            strict=True,
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
            n_lineups = self.rules().count_lineups(size, n_seats)
            seed = int(rng.integers(_SEED_LIMIT))
            places = ROUND_ROBIN.pair(Field(size, n_seats), n_lineups, seed=seed)
            lineups_by_group.append([tuple(group[place] for place in lineup) for lineup in places])
        # So that a stage cut short by the budget is cut short in all groups alike.
        return take_in_turn(lineups_by_group)

    def _count_lineups(self, field: Field) -> list[int]:
        rules = self.rules()
        return [
            sum(rules.count_lineups(size, field.n_seats) for size in sizes)
            for sizes in rules.list_sizes(field)
        ]

    def rules(self) -> GroupRules:
        """Return the sizes and lengths that the parameters ask for."""
        names = ("group_size", "rounds", "stages", "finalists")
        return GroupRules(*(self.number(name) for name in names))


PAIRING = _Groups()
