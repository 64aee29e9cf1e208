"""What leads of blocks are made of: how strong agents are, and what pairs have of their own.

Both are random effects (Laird and Ware 1982), of which each lead is a sum.
"""

from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Floats, Ints
from arena.verdicts.seed_blocks import SeedBlocks


class LeadEffects(NamedTuple):
    """Effects of which the leads of blocks are sums, those of the agents first.

    signs: float64 [b, e], 1, -1 or 0. variance: float64 [e], in units of rating, squared. noise:
    float64 [b], the variance of what no other block shares. low, high: int64 [p], the agents of the
    pairs that have an effect, on the lead of the lower one.
    """

    signs: Floats
    variance: Floats
    noise: Floats
    low: Ints
    high: Ints

    def take(self, part: slice) -> "LeadEffects":
        """Return those of a part of the blocks."""
        return self._replace(signs=self.signs[part], noise=self.noise[part])


def find_effects(
    blocks: SeedBlocks, n_agents: int, *, spread: float, pair_variance: float
) -> LeadEffects:
    """Return the effects of agents of this spread, and those of pairs that meet more than once."""
    low, high = np.minimum(blocks.first, blocks.second), np.maximum(blocks.first, blocks.second)
    met, pair, n_met = np.unique(low * n_agents + high, return_inverse=True, return_counts=True)
    again = (n_met > 1) & (pair_variance > 0)
    column, is_again, row = n_agents - 1 + np.cumsum(again), again[pair], np.arange(len(pair))
    signs = np.zeros((len(row), n_agents + again.sum()))
    signs[row, blocks.first], signs[row, blocks.second] = 1, -1
    turned = np.where(blocks.first < blocks.second, 1, -1)
    signs[row[is_again], column[pair[is_again]]] = turned[is_again]
    variance = np.full(signs.shape[1], float(pair_variance))
    variance[:n_agents] = spread**2
    noise = np.where(is_again, 0.0, pair_variance)
    return LeadEffects(signs, variance, noise, *np.divmod(met[again], n_agents))
