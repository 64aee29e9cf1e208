"""Blocks of a campaign in planned order: played on some slots, known once they are over."""

from collections.abc import Sequence
from heapq import heapify, heapreplace

import numpy as np

from arena.pairing.base import Lineup
from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.settled import FittedTerms, SettledRatings, settle_ratings
from benchmarks.campaigns.hard.base import HardWorld, find_session
from benchmarks.campaigns.hard.blocks import PlayedBlocks, count_games
from benchmarks.campaigns.worlds import COUPLE

# Blocks played at a time.
N_SLOTS = 8


class BlockLedger:
    """What is planned, what is over, and its closed prefix.

    Planners see all that is over, as control does; who judges sees the prefix up to the first block
    that is not: what is over early says something of how it ended.
    """

    def __init__(self, world: HardWorld, rng: np.random.Generator) -> None:
        self.world, self.rng, self.n_agents = world, rng, world.n_agents
        self.lineups: list[Lineup] = []
        self.scores: Ints = np.zeros((0, COUPLE), np.int64)
        self.ends: Floats = np.zeros(0)
        self.clock, self.n_closed = 0.0, 0
        self._free = [0.0] * N_SLOTS
        self.settled: SettledRatings = self._settle(None)

    @property
    def n_planned(self) -> int:
        """Matches planned."""
        return COUPLE * len(self.lineups)

    @property
    def n_known(self) -> int:
        """Matches that may be judged by."""
        return COUPLE * self.n_closed

    @property
    def in_flight(self) -> Sequence[Lineup]:
        return [self.lineups[block] for block in np.flatnonzero(self.ends > self.clock)]

    def count_pairs(self) -> PairCounts:
        """Return the results of all that is over."""
        return count_games(self._select_blocks(np.flatnonzero(self.ends <= self.clock)))

    def list_closed(self) -> PlayedBlocks:
        return self._select_blocks(np.arange(self.n_closed))

    def plan(self, lineups: Sequence[Lineup]) -> None:
        """Put blocks at the end of the plan; each starts once a slot is free."""
        if not lineups:
            return
        first, second = np.array(lineups, np.int64).reshape(-1, COUPLE).T
        time = self.n_planned + COUPLE * np.arange(len(lineups), dtype=np.float64)
        scores = self.world.play_blocks(first, second, time, self.rng)
        lengths = self.world.find_lengths(first, second, scores).sum(axis=1)
        # Some jitter, or blocks of one kind would all end at the same moment.
        lengths = lengths * self.rng.uniform(0.5, 1.5, len(lengths))
        self.lineups += [(int(i), int(j)) for i, j in zip(first, second, strict=True)]
        self.scores = np.concatenate([self.scores, scores])
        self.ends = np.concatenate([self.ends, self._run_blocks(lengths)])

    def close(self, n_blocks: int) -> None:
        """Let time pass until the first so many blocks are over."""
        self.clock = float(self.ends[:n_blocks].max(initial=self.clock))
        self.n_closed = min(n_blocks, len(self.ends))
        self.settled = self._settle(self.settled.mu)

    def _run_blocks(self, lengths: Floats) -> Floats:
        # No slot starts a block before it is planned.
        self._free = [max(free, self.clock) for free in self._free]
        heapify(self._free)
        ends = np.empty_like(lengths)
        for place, length in enumerate(lengths.tolist()):
            ends[place] = self._free[0] + length
            heapreplace(self._free, ends[place])
        return ends

    def _select_blocks(self, chosen: Ints) -> PlayedBlocks:
        pairs = np.array(self.lineups, np.int64).reshape(-1, COUPLE)[chosen]
        session = find_session(COUPLE * chosen.astype(np.float64))
        return PlayedBlocks(pairs[:, 0], pairs[:, 1], self.scores[chosen], session)

    def _settle(self, start: Floats | None) -> SettledRatings:
        terms = FittedTerms(seat=True, draws=True)
        return settle_ratings(self.count_pairs(), self.n_agents, start=start, terms=terms)
