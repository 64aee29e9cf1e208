"""Blocks of two games on one seed, which say whether results are what a ranking would bring."""

from typing import NamedTuple

from arena.ratings.counts import Ints


class SeedBlocks(NamedTuple):
    """Blocks of two games on one seed with the seats exchanged, in planned order.

    first, second: int64 [b], agents. scores: int64 [b, 2], 1, 0 or -1 of the agent `first` where it
    sat first, and where it sat second.
    """

    first: Ints
    second: Ints
    scores: Ints
