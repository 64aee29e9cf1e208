"""The evidence of a campaign: its blocks one by one, as a rule gets them."""

from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Ints, PairCounts, count_results


class PlayedBlocks(NamedTuple):
    """Blocks of two games in planned order, up to the first that is not over.

    first, second: int64 [b], agents. scores: int64 [b, 2], 1, 0 or -1 of the agent `first` in the
    game in which it sits first and in that in which it sits second. session: int64 [b], when.
    """

    first: Ints
    second: Ints
    scores: Ints
    session: Ints

    @property
    def n_matches(self) -> int:
        return int(self.scores.size)


def count_games(blocks: PlayedBlocks) -> PairCounts:
    """Return the results of all games by who sat first."""
    first, second = blocks.first, blocks.second
    games = [first, second, blocks.scores[:, 0]], [second, first, -blocks.scores[:, 1]]
    return count_results(np.concatenate([np.stack(game, axis=1) for game in games]))
