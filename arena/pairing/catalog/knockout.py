"""Knockout: a seeded bracket, best of k blocks. For a show and for very small budgets.

Every slot goes on as soon as its agents are known; a block that could not change the winner is not
played. It says little for what it costs beyond a few matches an agent: a sample of the posterior
finds the best with fewer.
"""

import numpy as np

from arena.pairing.adaptive import AdaptiveCouples
from arena.pairing.base import Field, Lineup, Standing
from arena.pairing.bracket import Bracket, KnockoutRules, build_bracket, open_slots
from arena.parameters import Parameter


class _Knockout(AdaptiveCouples):
    id = "knockout"
    title = "Knockout"
    needs_meetings = True
    goal = "the final"
    parameters = (
        Parameter("best_of", 3, "blocks of two matches in which two agents meet", 1, 99),
        Parameter("tie_breaks", 2, "more blocks, one by one, while they are level", 0, 99),
    )

    def bracket(self, standing: Standing) -> Bracket:
        """Return the bracket after the meetings so far, seeded by the standing at the start."""
        seeding = standing.seeding or range(standing.field.n_agents)
        return build_bracket(seeding, standing.meetings, self._rules())

    def least_blocks(self, field: Field) -> int:
        # Every slot but the byes of the first round has one winner, and all but one agent lose.
        return (field.n_agents - 1) * (self.number("best_of") // 2 + 1)

    def most_blocks(self, field: Field) -> int:
        """Return the blocks that suffice where every meeting has its full length: no tie-breaks."""
        return (field.n_agents - 1) * self.number("best_of")

    def is_over(self, standing: Standing) -> bool:
        return self.bracket(standing).winner is not None

    def lineups(
        self,
        standing: Standing,
        n_blocks: int,
        rng: np.random.Generator,  # noqa: ARG002 - no chance
    ) -> list[Lineup]:
        chosen: list[Lineup] = []
        for slot in open_slots(self.bracket(standing)):
            pair = tuple(agent for agent in (slot.first, slot.second) if agent is not None)
            chosen += [pair] * self._rules().n_needed(slot)
        return chosen[:n_blocks]

    def _rules(self) -> KnockoutRules:
        return KnockoutRules(self.number("best_of"), self.number("tie_breaks"))


PAIRING = _Knockout()
