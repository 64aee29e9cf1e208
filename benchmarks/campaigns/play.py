"""One simulated campaign: plan, play, settle and watch, with some of the matches in flight."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arena.pairing.base import AdaptivePairing, Field, Lineup, Pairing, Standing
from arena.ratings.base import DRAW_PROBABILITY
from arena.ratings.counts import Ints, PairCounts
from arena.ratings.settled import SettledRatings, settle_ratings
from benchmarks.campaigns.worlds import World

COUPLE = 2
IN_FLIGHT = 1 / 9
"""Of the matches planned, those whose result is not known yet: control plans an eighth ahead of
what is known (matches.ledger.adaptive_pairing)."""
GROWTH = 0.1
"""The field is settled anew when the results have grown by this much."""

Planner = Callable[["Ledger", int], Sequence[Lineup]]


class Ledger:
    """The results known of a field, and the blocks in flight."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        """Begin without any."""
        n = len(world.truth)
        self.world, self.rng, self.n_agents = world, rng, n
        self.table = np.zeros((3, n, n), np.int64)  # by 1 - score, first, second
        self.in_flight: list[Lineup] = []
        self.n_known = 0
        self.settled = settle_ratings(self.counts(), n)

    @property
    def n_planned(self) -> int:
        """Matches known and in flight."""
        return self.n_known + COUPLE * len(self.in_flight)

    def counts(self) -> PairCounts:
        """Return the results known."""
        first, second = np.nonzero(self.table.any(axis=0))
        return PairCounts(first, second, *self.table[:, first, second])

    def finish(self, n_blocks: int) -> None:
        """Play blocks in flight, in any order, each in both seat orders."""
        chosen = set(self.rng.permutation(len(self.in_flight))[:n_blocks].tolist())
        done = np.array([self.in_flight[i] for i in sorted(chosen)], np.int64).reshape(-1, COUPLE)
        self.in_flight = [pair for i, pair in enumerate(self.in_flight) if i not in chosen]
        first, second = np.concatenate([done, done[:, ::-1]]).T
        self._count(first, second, self.world.play(first, second, self.rng))

    def _count(self, first: Ints, second: Ints, score: Ints) -> None:
        np.add.at(self.table, (1 - score, first, second), 1)
        self.n_known += len(score)

    def pairs_in_flight(self) -> dict[tuple[int, int], int]:
        """Return the matches in flight by unordered pair."""
        found: dict[tuple[int, int], int] = {}
        for i, j in self.in_flight:
            pair = (i, j) if i < j else (j, i)
            found[pair] = found.get(pair, 0) + COUPLE
        return found


class Moment(NamedTuple):
    """What is known after a refit."""

    settled: SettledRatings
    counts: PairCounts


def watch(world: World, planner: Planner, *, budget: int, seed: int) -> Iterator[Moment]:
    """Yield the settled field at every refit, until about the budget of matches is known."""
    ledger = Ledger(world, np.random.default_rng(seed))
    while ledger.n_known < budget:
        n_blocks = max(ledger.n_agents // 4, int(ledger.n_known * GROWTH / COUPLE), 1)
        n_blocks = min(n_blocks, -(-(budget - ledger.n_known) // COUPLE))
        ledger.in_flight += planner(ledger, _n_new(ledger, n_blocks))
        ledger.finish(n_blocks)
        counts = ledger.counts()
        ledger.settled = settle_ratings(counts, ledger.n_agents, start=ledger.settled.mu)
        yield Moment(ledger.settled, counts)


def _n_new(ledger: Ledger, n_blocks: int) -> int:
    """Return how many blocks to plan, for a share of IN_FLIGHT and at least for n_blocks."""
    wanted = round(ledger.n_known / (1 - IN_FLIGHT)) - ledger.n_planned
    return max(wanted // COUPLE, n_blocks - len(ledger.in_flight), 0)


@dataclass
class Adaptive:
    """Plans by a pairing that reads the standing."""

    pairing: AdaptivePairing
    seed: int

    def __call__(self, ledger: Ledger, n_blocks: int) -> Sequence[Lineup]:
        """Return the next blocks."""
        self.seed += 1
        settled = ledger.settled
        standing = Standing(
            Field(ledger.n_agents, COUPLE), settled.mu, settled.covariance, settled.sd,
            settled.spread, ledger.counts(), ledger.pairs_in_flight(), (), DRAW_PROBABILITY,
        )  # fmt: skip
        return self.pairing.choose(standing, n_blocks, seed=self.seed)


class Fixed:
    """Plans by a pairing that knows all lineups from the start."""

    def __init__(self, pairing: Pairing, n_agents: int, budget: int, seed: int) -> None:
        """Draw as many as the budget and what is in flight then may need."""
        n_blocks = int(budget / COUPLE / (1 - IN_FLIGHT)) + n_agents
        self._lineups = pairing.pair(Field(n_agents, COUPLE), n_blocks, seed=seed)

    def __call__(self, ledger: Ledger, n_blocks: int) -> Sequence[Lineup]:
        """Return the next blocks."""
        start = ledger.n_planned // COUPLE
        return self._lineups[start : start + n_blocks]
