"""Results of one-seat games: each two agents that played one game seed are one result by score.

Nobody plays against anybody there, so agents are compared on equal terms: a block is the episodes
of all agents on one seed. What it holds follows from the set of its episodes alone, so the order in
which they come, doubles and what is taken back make no difference.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from arena.ratings.counts import Ints, PairCounts

FORFEITED = float("-inf")
"""The score of an episode that ended in a forfeit: below any other."""


class Episode(NamedTuple):
    """An episode of one seat; sequence: its place in planned order."""

    game_seed: int
    agent: int
    sequence: int
    score: float


class PairResult(NamedTuple):
    """A result of two agents, the lower id first; kind: 0 it did better, 1 as well, 2 worse.

    n: 1, or -1 for a result that is taken back.
    """

    first: int
    second: int
    kind: int
    n: int


class ScoreBook:
    """The episodes that count, by game seed.

    Of several episodes of an agent on one seed the first in planned order counts.
    """

    def __init__(self, margin: float = 0.0) -> None:
        """Start empty. margin: how far two scores may lie apart that count as equal."""
        self._margin = margin
        self._blocks: dict[int, dict[int, list[tuple[int, float]]]] = defaultdict(dict)

    def add(self, episode: Episode) -> list[PairResult]:
        """Take in an episode; return what that changes. One that is there changes nothing."""
        played = self._blocks[episode.game_seed].setdefault(episode.agent, [])
        entry = episode.sequence, episode.score
        if entry in played:
            return []
        before = played[0][1] if played else None
        insort(played, entry)
        return list(self._replace(episode, before, played[0][1]))

    def remove(self, episode: Episode) -> list[PairResult]:
        """Take an episode back; return what that changes. One that is not there changes nothing."""
        block = self._blocks[episode.game_seed]
        played, entry = block.get(episode.agent, []), (episode.sequence, episode.score)
        if entry not in played:
            return []
        before = played[0][1]
        played.remove(entry)
        if not played:
            del block[episode.agent]
        return list(self._replace(episode, before, played[0][1] if played else None))

    def copy_blocks(self, game_seeds: Iterable[int]) -> "ScoreBook":
        """Return a book of these blocks alone, which can be changed without changing this one."""
        copy = ScoreBook(self._margin)
        for seed in game_seeds:
            block = self._blocks.get(seed, {})
            copy._blocks[seed] = {agent: list(played) for agent, played in block.items()}
        return copy

    def _replace(
        self, episode: Episode, before: float | None, after: float | None
    ) -> Iterator[PairResult]:
        """Yield the pair results that change when an agent's score in a block changes."""
        if before == after:
            return
        for other, played in self._blocks[episode.game_seed].items():
            if other == episode.agent:
                continue
            for score, n in ((before, -1), (after, 1)):
                if score is not None:
                    better = compare_scores(score, played[0][1], self._margin)
                    if other > episode.agent:
                        yield PairResult(episode.agent, other, 1 - better, n)
                    else:
                        yield PairResult(other, episode.agent, 1 + better, n)


def compare_scores(score: float, other: float, margin: float) -> int:
    """Return 1 for the better score, -1 for the worse, 0 where they lie within the margin."""
    # Two forfeits are equal, and their difference is not a number.
    if score == other or abs(score - other) <= margin:
        return 0
    return 1 if score > other else -1


def count_common_seeds(counts: PairCounts, n_agents: int) -> Ints:
    """Return on how many seeds each agent met the other that it met most: int64 [n_agents]."""
    times = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    most = np.zeros(n_agents, np.int64)
    for agents in (counts.first, counts.second):
        np.maximum.at(most, agents, times)
    return most


def weigh_blocks(counts: PairCounts) -> float:
    """Return what one result of two weighs, so that a block of k agents weighs k - 1 results.

    A block makes k (k - 1) / 2 results of k scores, so where all agents play all seeds it is 2 / k.
    In general: the seeds that the pairs of a maximum spanning forest have in common, over all
    results. That is exact where an agent with fewer seeds has played the first of them, and never
    too much: a tree on the agents of a block has at most k - 1 of its pairs.
    """
    if not counts.n_results:
        return 1.0
    n_common: Ints = counts.n_first_wins + counts.n_draws + counts.n_second_wins
    first, second = (
        np.searchsorted(counts.agents, names) for names in (counts.first, counts.second)
    )
    # The pairs are negated, as scipy looks for the least; a pair may come in both orders.
    shape = (len(counts.agents), len(counts.agents))
    low, high = np.minimum(first, second), np.maximum(first, second)
    negated = coo_array((-n_common.astype(np.float64), (low, high)), shape=shape).tocsr()
    return float(-minimum_spanning_tree(negated).sum() / counts.n_results)
