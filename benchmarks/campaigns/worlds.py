"""Simulated fields: agents whose truth is known, how their matches end, and what is planned next.

Some of the matches are in flight, as on a real board, when the next ones are planned.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple, Protocol

import numpy as np

from arena.games.catalog.skill_game import MAX_RAND_PROB, MAX_TIE_PROB, RATING_RANGE
from arena.pairing import registry as pairings
from arena.pairing.base import AdaptivePairing, Field, Lineup, Standing
from arena.ratings.base import BETA, DEFAULT, MU, SIGMA
from arena.ratings.counts import Floats, Ints, PairCounts
from arena.ratings.settled import SettledRatings, settle_ratings

# The spread of the checkpoints of one run.
CLOSE = SIGMA / 4
NOISE = float(np.sqrt(2) * BETA)
COUPLE = 2
# Of the matches planned, those whose result is not known yet: control plans an eighth ahead of
# what is known (the adapting of tournaments).
IN_FLIGHT = 1 / 9
# The field is settled anew when the results have grown by this much.
GROWTH = 0.1


class Truth(Protocol):
    @property
    def truth(self) -> Floats:
        """How good each agent is, in a unit of its own: float64 [n]."""
        ...

    def find_lead(self, one: int, other: int) -> float:
        """Return by how much, as a gap in rating, one agent is better than the other, or 0."""
        ...


class World(Truth, Protocol):
    def play_matches(self, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
        """Return the score of each match: 1 first wins, 0 draw, -1 second wins."""
        ...


@dataclass(frozen=True, eq=False)
class Normal:
    """TrueSkill's own model."""

    truth: Floats

    def find_lead(self, one: int, other: int) -> float:
        """Return it in the unit of the truth, which is that of the ratings."""
        return max(0.0, float(self.truth[one] - self.truth[other]))

    def play_matches(self, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
        """Compare two performances; close ones are a draw."""
        lead = self.truth[first] - self.truth[second] + rng.normal(0, NOISE, len(first))
        return np.where(np.abs(lead) < DEFAULT.draw_margin, 0, np.sign(lead)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Seed:
    """The skill game: its rules on random numbers of our own, many matches at once."""

    truth: Floats

    def find_lead(self, one: int, other: int) -> float:
        """Return 0 or infinity: one level wins 74 % of the points, more than any margin."""
        return float("inf") if self.truth[one] > self.truth[other] else 0.0

    def play_matches(self, first: Ints, second: Ints, rng: np.random.Generator) -> Ints:
        """Let the better level win, unless the coin turns: see arena.games.catalog.skill_game."""
        gap = np.abs(self.truth[first] - self.truth[second]) / RATING_RANGE
        expected = np.where(self.truth[first] >= self.truth[second], 1, -1)
        is_random, is_tie = rng.random((2, len(gap)))
        turned = np.where(is_tie < MAX_TIE_PROB - gap, 0, -expected)
        return np.where(is_random >= MAX_RAND_PROB - gap, expected, turned).astype(np.int64)


WORLDS: dict[str, Callable[[int, np.random.Generator], World]] = {
    "gauss": lambda n, rng: Normal(rng.normal(MU, SIGMA, n)),
    "close": lambda n, rng: Normal(rng.normal(MU, CLOSE, n)),
    # Levels of the skill game, some of them equal.
    "seed": lambda n, rng: Seed(rng.integers(0, RATING_RANGE, n).astype(np.float64)),
}


def play_at_random(world: World, n_matches: int, rng: np.random.Generator) -> Ints:
    """Return first, second and score of matches of random pairs: int64 [m, 3]."""
    n_agents = len(world.truth)
    first = rng.integers(0, n_agents, n_matches)
    second = (first + rng.integers(1, n_agents, n_matches)) % n_agents
    return np.stack([first, second, world.play_matches(first, second, rng)], axis=1)


class Progress(Protocol):
    """What is known when more is to be planned."""

    @property
    def n_agents(self) -> int: ...

    @property
    def settled(self) -> SettledRatings: ...

    @property
    def in_flight(self) -> Sequence[Lineup]: ...

    @property
    def n_known(self) -> int: ...

    @property
    def n_planned(self) -> int:
        """How many matches are planned: those known and those in flight."""
        ...

    def count_pairs(self) -> PairCounts: ...


class Ledger:
    """The results known of a field, and the blocks in flight."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        n = len(world.truth)
        self.world, self.rng, self.n_agents = world, rng, n
        self.table = np.zeros((3, n, n), np.int64)  # by 1 - score, first, second
        self.in_flight: list[Lineup] = []
        self.n_known = 0
        self.settled = settle_ratings(self.count_pairs(), n)

    @property
    def n_planned(self) -> int:
        return self.n_known + COUPLE * len(self.in_flight)

    def count_pairs(self) -> PairCounts:
        first, second = np.nonzero(self.table.any(axis=0))
        return PairCounts(first, second, *self.table[:, first, second])

    def finish_blocks(self, n_blocks: int) -> None:
        """Play blocks in flight, in any order, each in both seat orders."""
        # Matches do not end in the order in which they were sent.
        chosen = set(self.rng.permutation(len(self.in_flight))[:n_blocks].tolist())
        done = np.array([self.in_flight[i] for i in sorted(chosen)], np.int64).reshape(-1, COUPLE)
        # What is not chosen stays in flight, as on a real board.
        self.in_flight = [pair for i, pair in enumerate(self.in_flight) if i not in chosen]
        first, second = np.concatenate([done, done[:, ::-1]]).T
        score = self.world.play_matches(first, second, self.rng)
        np.add.at(self.table, (1 - score, first, second), 1)
        self.n_known += len(score)


class Moment(NamedTuple):
    """What is known after a refit."""

    settled: SettledRatings
    counts: PairCounts


# Returns the next blocks, so many.
Planner = Callable[[Progress, int], Sequence[Lineup]]


def watch_field(world: World, planner: Planner, *, budget: int, seed: int) -> Iterator[Moment]:
    """Yield the settled field at every refit, until about the budget of matches is known."""
    ledger = Ledger(world, np.random.default_rng(seed))
    while ledger.n_known < budget:
        n_blocks = max(ledger.n_agents // 4, int(ledger.n_known * GROWTH / COUPLE), 1)
        n_blocks = min(n_blocks, -(-(budget - ledger.n_known) // COUPLE))
        # As many new ones as keep the share in flight, and enough to finish.
        n_ahead = round(ledger.n_known / (1 - IN_FLIGHT)) - ledger.n_planned
        n_new = max(n_ahead // COUPLE, n_blocks - len(ledger.in_flight), 0)
        ledger.in_flight += planner(ledger, n_new)
        ledger.finish_blocks(n_blocks)
        counts = ledger.count_pairs()
        ledger.settled = settle_ratings(counts, ledger.n_agents, start=ledger.settled.mu)
        yield Moment(ledger.settled, counts)


def plan_adaptively(pairing: AdaptivePairing, seed: int) -> Planner:
    """Return a planner by a pairing that reads the standing."""
    seeds = count(seed + 1)

    def plan_blocks(ledger: Progress, n_blocks: int) -> Sequence[Lineup]:
        settled, in_flight = ledger.settled, Counter[tuple[int, int]]()
        for i, j in ledger.in_flight:
            in_flight[min(i, j), max(i, j)] += COUPLE
        standing = Standing(
            Field(ledger.n_agents, COUPLE), settled.mu, settled.covariance, settled.sd,
            settled.spread, ledger.count_pairs(), in_flight, (), settled.draw_probability,
            seat_advantage=settled.seat.mu if settled.seat else 0.0,
        )  # fmt: skip
        return pairing.choose(standing, n_blocks, seed=next(seeds))

    return plan_blocks


def plan_beforehand(pairing: str, n_agents: int, budget: int, seed: int) -> Planner:
    """Return a planner by a pairing that knows all lineups from the start."""
    # As many as the budget and what is in flight then may need.
    n_all = int(budget / COUPLE / (1 - IN_FLIGHT)) + n_agents
    lineups = pairings.get(pairing).pair(Field(n_agents, COUPLE), n_all, seed=seed)

    def plan_blocks(ledger: Progress, n_blocks: int) -> Sequence[Lineup]:
        start = ledger.n_planned // COUPLE
        return lineups[start : start + n_blocks]

    return plan_blocks
