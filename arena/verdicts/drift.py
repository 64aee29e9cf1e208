"""Whether strength drifts: agents that do better or worse than they did before, part by part.

The blocks are cut into parts of equal length in planned order. Of each agent and part the points
are compared with what ratings expect that are the same throughout. If strength walks at random,
adding N(0, q) from part to part, the squares of the departures grow with q (method of moments), and
the newest part says the most about now: the gain of Kalman's filter says by how much.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Floats, Ints
from arena.ratings.expected_points import expect_points
from arena.ratings.settled import SettledRatings

PARTS = 8
# Fewer blocks of an agent in a part say nothing of it.
_LEAST_BLOCKS = 2
_LEAST_VARIANCE = 0.05
# Standard deviations of chance that are taken off.
_BY_CHANCE = 1.0


class SeedBlocks(NamedTuple):
    """Blocks of two games on one seed with the seats exchanged, in planned order.

    first, second: int64 [b], agents. scores: int64 [b, 2], 1, 0 or -1 of the agent `first` where it
    sat first, and where it sat second.
    """

    first: Ints
    second: Ints
    scores: Ints


class Drift(NamedTuple):
    """How strength walks.

    variance: of a step from part to part, in units of rating, squared. excess: of the departures
    over those of ratings that stay, in standard deviations. gain: what the newest part weighs, 1
    over the number of parts where nothing drifts. departures: float64 [parts, n], of each agent, in
    standard deviations of chance.
    """

    variance: float
    excess: float
    gain: float
    departures: Floats


def estimate_drift(blocks: SeedBlocks, settled: SettledRatings, *, dispersion: float) -> Drift:
    """Return how the strength of agents of these ratings walks."""
    part = np.arange(len(blocks.first)) * PARTS // max(1, len(blocks.first))
    residual, variance, information, n_blocks = _tabulate(blocks, part, settled, dispersion)
    is_seen = n_blocks >= _LEAST_BLOCKS
    departures = np.where(is_seen, residual / np.sqrt(np.maximum(variance, _LEAST_VARIANCE)), 0.0)
    # A rating takes one degree of freedom of each agent.
    df = float(is_seen.sum() - is_seen.any(axis=0).sum())
    none = Drift(0.0, 0.0, 1 / PARTS, departures)
    n_seen = int(is_seen.any(axis=0).sum())
    if df <= 0 or n_seen < 2:  # noqa: PLR2004
        return none
    # What one agent has too much others have too little: of two they are mirror images.
    chance = sqrt(2 * df * n_seen / (n_seen - 1))
    excess = (float((departures**2).sum()) - df) / chance
    total_information = float(information[is_seen].sum())
    if excess <= _BY_CHANCE or total_information <= 0:
        return none._replace(excess=excess)
    # The mean square of a random walk of so many steps about its own mean: see Wiener's process.
    q = (excess - _BY_CHANCE) * chance / total_information * 6 / PARTS
    of_part = total_information / float(is_seen.sum())
    before = sqrt(q**2 / 4 + q / of_part) - q / 2
    return Drift(q, excess, min(1.0, before * of_part), departures)


def _tabulate(
    blocks: SeedBlocks, part: Ints, settled: SettledRatings, dispersion: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return residual points, their variance, information and blocks: [parts, n] each."""
    game = expect_points(
        settled.mu[blocks.first] - settled.mu[blocks.second],
        draw_probability=settled.draw_probability,
        seat=settled.seat.mu if settled.seat else 0.0,
    )
    variance = np.maximum(2 * game.variance, _LEAST_VARIANCE) * dispersion
    residual = blocks.scores.sum(axis=1) / 2 + 1 - 2 * game.mean
    shape = (PARTS, len(settled.mu))
    columns = (residual, variance, (2 * game.slope) ** 2 / variance, np.ones(len(part)))
    tables = [np.zeros(shape) for _ in columns]
    for number, (table, column) in enumerate(zip(tables, columns, strict=True)):
        np.add.at(table, (part, blocks.first), column)
        # What one has too much the other has too little.
        np.add.at(table, (part, blocks.second), -column if number == 0 else column)
    return tables[0], tables[1], tables[2], tables[3]
