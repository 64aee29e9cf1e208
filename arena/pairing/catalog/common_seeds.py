"""Common seeds: which agent of a one-seat game plays its next game seed.

All agents play the same seeds in the same order, so two are compared on those that both have
played. Each draw from the posterior names two agents whose order is in doubt; the one that has
played fewer seeds catches up, and where both have played as many, both go on.
"""

from collections.abc import Iterator

import numpy as np

from arena.pairing.adaptive import Adaptive
from arena.pairing.base import Field, Lineup, Standing
from arena.pairing.matching import is_worth_playing
from arena.parameters import Parameter
from arena.ratings.counts import Ints
from arena.ratings.samples import Sampler
from arena.ratings.scores import count_common_seeds, weigh_blocks

# How often a draw may be refused because its two have episodes in flight.
_N_TRIES = 4


class _CommonSeeds(Adaptive):
    id = "common_seeds"
    title = "Next common seeds"
    parameters = (
        Parameter("top", 0, "compare only so many of the best of each sample; 0: all", 0, 10_000),
        Parameter("edge", 0, "compare only ranks k and k + 1 of each sample; 0: all", 0, 10_000),
    )

    def refusal(self, field: Field) -> str | None:
        """Return why not, for any but matches of one seat."""
        if field.n_seats == 1:
            return None
        return f"its matches have 1 seat, and these have {field.n_seats}"

    def lineups(self, standing: Standing, n_blocks: int, rng: np.random.Generator) -> list[Lineup]:
        n_waiting = np.zeros(standing.field.n_agents, np.int64)
        for (agent, _), n_open in standing.n_in_flight.items():
            n_waiting[agent] += n_open
        n_seeds = count_common_seeds(standing.counts, standing.field.n_agents) + n_waiting
        chosen: list[Lineup] = []
        n_refused = 0
        pairs = self._draw_pairs(standing, rng)
        while len(chosen) < n_blocks:
            pair = next(pairs)
            gap = float(standing.mu[pair[0]] - standing.mu[pair[1]])
            variance = float((standing.sd[pair] ** 2).sum())
            n_open = int(n_waiting[pair].max())
            if n_refused < _N_TRIES and not is_worth_playing(gap, variance, n_open, rng):
                n_refused += 1
                continue
            n_refused = 0
            for agent in pair[n_seeds[pair] == n_seeds[pair].min()].tolist():
                chosen.append((agent,))
                n_seeds[agent] += 1
                n_waiting[agent] += 1
        return chosen[:n_blocks]

    def _draw_pairs(self, standing: Standing, rng: np.random.Generator) -> Iterator[Ints]:
        """Yield two agents, int64 [2], side by side in a posterior sample each, for ever."""
        sampler = Sampler.of_field(
            standing.counts,
            standing.mu,
            standing.covariance,
            standing.spread,
            draw_probability=standing.draw_probability,
            weight=weigh_blocks(standing.counts),
        )
        n_agents = standing.field.n_agents
        n_ranks = min(max(self.number("top"), 2) if self.number("top") else n_agents, n_agents)
        while True:
            order = np.argsort(-sampler.draw(rng, 1)[0])
            rank = min(self.number("edge"), n_agents - 1) - 1
            if rank < 0:
                rank = int(rng.integers(n_ranks - 1))
            yield order[rank : rank + 2]


PAIRING = _CommonSeeds()
