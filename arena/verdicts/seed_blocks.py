"""Blocks of two games on one seed, which say whether results are what a ranking would bring."""

from typing import NamedTuple, Self

import numpy as np

from arena.ratings.counts import Ints


class SeedBlocks(NamedTuple):
    """Blocks of two games on one seed with the seats exchanged, in planned order.

    first, second: int64 [b], agents. scores: int64 [b, 2], 1, 0 or -1 of the agent `first` where it
    sat first, and where it sat second. seed: int64 [b], the same where the game seed is.
    """

    first: Ints
    second: Ints
    scores: Ints
    seed: Ints

    def take(self, which: Ints | slice) -> Self:
        """Return some of them, or all in another order."""
        return type(self)(*(column[which] for column in self))


def shuffle_seeds(blocks: SeedBlocks, n_orders: int) -> list[SeedBlocks]:
    """Return the blocks in so many other orders, in which those of a seed stay together.

    None where every block has a seed of its own, or all have one: nothing is alike but in time.
    """
    seeds, which = np.unique(blocks.seed, return_inverse=True)
    if len(seeds) in (1, len(which)):
        return []
    # The same orders for the same blocks: to look again is no second chance.
    rng = np.random.default_rng(len(which))
    ranks = (rng.permutation(len(seeds)) for _ in range(n_orders))
    return [blocks.take(np.argsort(rank[which], kind="stable")) for rank in ranks]
