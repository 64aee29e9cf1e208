"""Whether the strength that ratings show holds: the share of agents whose true one lies within.

Where a field has a one-number truth. Only differences can be known of it, so that ratings and truth
are both taken about the mean of the field, which one agent that is far from all others moves; and
how far each two are apart is looked at, which it does not move.
"""

from collections.abc import Callable, Sequence
from time import process_time
from typing import NamedTuple
from zlib import crc32

import numpy as np

from arena.ratings.counts import Floats
from benchmarks.campaigns.hard.base import HardWorld
from benchmarks.campaigns.hard.blocks import PlayedBlocks
from benchmarks.campaigns.hard.catalog import HARD_WORLDS, draw_gauss
from benchmarks.campaigns.hard.fits import FITS, Estimate, Fit
from benchmarks.campaigns.hard.probit import Probit
from benchmarks.campaigns.hard.seats import PlayedRanks, Seats
from benchmarks.campaigns.worlds import COUPLE


class Field(NamedTuple):
    """world: of HARD_WORLDS, or one of more seats. n_per_agent: matches of each agent."""

    world: str
    n_agents: int
    n_per_agent: int


SEATS: dict[str, Callable[[int, np.random.Generator], Seats]] = {
    "free_for_all": lambda n, rng: Seats(draw_gauss(n, rng)),
    "one_winner": lambda n, rng: Seats(draw_gauss(n, rng), has_equal_losers=True),
    "teams": lambda n, rng: Seats(draw_gauss(n, rng), team_size=2),
}
FIELDS: dict[str, Field] = {
    "gauss": Field("gauss", 10, 40),
    "close": Field("close", 10, 40),
    "heavy_tails": Field("heavy_tails", 10, 40),
    "clusters": Field("clusters", 10, 40),
    "many": Field("many", 100, 8),
    "six_each": Field("gauss", 10, 6),
    "draws": Field("draws", 10, 40),
    "seat": Field("seat", 10, 40),
    "free_for_all": Field("free_for_all", 10, 40),
    "one_winner": Field("one_winner", 10, 40),
    "teams": Field("teams", 10, 40),
}


class Task(NamedTuple):
    """The fields of FIELDS of one name: their fit, and the seed."""

    name: str
    fit: str
    seed: int


class Covered(NamedTuple):
    """What of one field lies within its intervals, and what is claimed of its pairs.

    n_within: agents whose distance from the mean of the field lies within their interval.
    n_gaps_within: pairs the gap between which lies within its interval.
    claimed: the sum of P(favourite is better), n_true: how many favourites are.
    """

    n_agents: int
    n_within: int
    n_gaps_within: int
    n_pairs: int
    claimed: float
    n_true: int
    seconds: float


def measure_named(task: Task) -> Covered:
    """Measure one field under the fit of a name."""
    return measure_coverage(FIELDS[task.name], FITS[task.fit], seed=task.seed)


def measure_coverage(field: Field, fit: Fit, *, seed: int) -> Covered:
    began = process_time()
    rng = np.random.default_rng([seed, crc32(field.world.encode())])
    truth, results = play_field(field, rng)
    estimate = fit(results, field.n_agents)
    first, second = np.triu_indices(field.n_agents, 1)
    n_pairs, claimed, n_true = count_favourites(estimate, truth)
    return Covered(
        field.n_agents,
        count_within(truth - truth.mean() + estimate.mu.mean(), estimate.low, estimate.high),
        count_within(truth[first] - truth[second], *estimate.find_gap_ends(first, second)),
        n_pairs,
        claimed,
        n_true,
        process_time() - began,
    )


def count_within(truth: Floats, low: Floats, high: Floats) -> int:
    return int(((low <= truth) & (truth <= high)).sum())


def play_field(field: Field, rng: np.random.Generator) -> tuple[Floats, PlayedBlocks | PlayedRanks]:
    """Return the true strengths and the results."""
    if field.world in SEATS:
        seats = SEATS[field.world](field.n_agents, rng)
        return seats.truth, seats.play_matches(field.n_per_agent, rng)
    world = HARD_WORLDS[field.world](field.n_agents, rng)
    if not isinstance(world, Probit):
        raise TypeError(f"{field.world} has no one-number truth")
    return world.truth, play_rounds(world, field.n_per_agent, rng)


def play_rounds(world: HardWorld, n_per_agent: int, rng: np.random.Generator) -> PlayedBlocks:
    """Return blocks of random rounds, in each of which every agent meets one other."""
    n_rounds, n = n_per_agent // COUPLE, world.n_agents
    pairs = [rng.permutation(n)[: n - n % COUPLE].reshape(-1, COUPLE) for _ in range(n_rounds)]
    first, second = np.concatenate(pairs).T
    scores = world.play_blocks(first, second, 0.0, rng)
    return PlayedBlocks(first, second, scores, np.zeros(len(first), np.int64))


def count_favourites(estimate: Estimate, truth: Floats) -> tuple[int, float, int]:
    """Return how many pairs, the sum of P(favourite is better), and how often it is."""
    i, j = np.triu_indices(len(truth), 1)
    above, below = estimate.above[i, j], estimate.above[j, i]
    is_first, claimed = above >= below, np.maximum(above, below)
    return len(i), float(claimed.sum()), int(((truth[i] > truth[j]) == is_first).sum())


def make_row(name: str, fit: str, measured: Sequence[Covered]) -> dict[str, object]:
    """Return the row of the benchmark; shares in percent."""
    field, n = FIELDS[name], sum(fitted.n_agents for fitted in measured)
    n_pairs = sum(field.n_pairs for field in measured)
    return {
        "world": name,
        "fit": fit,
        "agents": field.n_agents,
        "matches_each": field.n_per_agent,
        "n": len(measured),
        "coverage": 100 * sum(fitted.n_within for fitted in measured) / n,
        "gaps": 100 * sum(fitted.n_gaps_within for fitted in measured) / n_pairs,
        "claimed": 100 * sum(fitted.claimed for fitted in measured) / n_pairs,
        "true": 100 * sum(fitted.n_true for fitted in measured) / n_pairs,
        "seconds": sum(fitted.seconds for fitted in measured) / len(measured),
    }
