"""Whether strength drifts: agents that do better or worse than they did before, part by part.

The blocks are cut into parts of equal length in planned order. Of each agent and part the points
are compared with what ratings expect that are the same throughout: that tells who drifts since
when. How fast strength walks, adding N(0, q) from part to part, tells how well a walk foretells the
results (arena.verdicts.walks); in large fields the squares of the departures do, which grow with q
(method of moments). The newest part says the most about now.
"""

from math import nan, sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Floats, Ints
from arena.ratings.expected_points import expect_points
from arena.ratings.settled import SettledRatings
from arena.verdicts.seed_blocks import SeedBlocks
from arena.verdicts.walks import MOST_AGENTS, STEPS, weigh_steps

PARTS = 8
# Old results count less by shorter parts, the more is played.
_FEWEST_PARTS, _MOST_PARTS = 8, 32
# The probability of a walk from which it counts: pairings, which know of none, would send to meet
# whom verdicts do not wait for.
_SHOWN = 0.5
# Of the weight of an old result: no less than this is as much as a new one.
_AS_MUCH = 0.99
# Fewer blocks of an agent in a part say nothing of it.
_LEAST_BLOCKS = 2
_LEAST_VARIANCE = 0.05
# Standard deviations of chance that are taken off.
_BY_CHANCE = 1.0


class Drift(NamedTuple):
    """How strength walks.

    excess: of the departures over those of ratings that stay, in standard deviations. departures:
    float64 [PARTS, n], of each agent, in standard deviations of chance. weights: float64 [parts],
    what a result says of now, 1 where nothing drifts; those of the newest part first. chance: that
    it walks; nan where nothing tells but the excess: of large fields, and of few blocks.
    """

    excess: float
    departures: Floats
    weights: Floats
    chance: float = nan

    @property
    def is_discounting(self) -> bool:
        """Whether old results count for less."""
        return bool(self.weights.min() < _AS_MUCH)


def estimate_drift(blocks: SeedBlocks, settled: SettledRatings, *, dispersion: float) -> Drift:
    """Return how the strength of agents of these ratings walks."""
    part = np.arange(len(blocks.first)) * PARTS // max(1, len(blocks.first))
    residual, variance, information, n_blocks = _tabulate(blocks, part, settled, dispersion)
    is_seen = n_blocks >= _LEAST_BLOCKS
    departures = np.where(is_seen, residual / np.sqrt(np.maximum(variance, _LEAST_VARIANCE)), 0.0)
    n_parts = _choose_parts(len(blocks.first), len(settled.mu))
    # A rating takes one degree of freedom of each agent.
    df = float(is_seen.sum() - is_seen.any(axis=0).sum())
    n_seen = int(is_seen.any(axis=0).sum())
    if df <= 0 or n_seen < 2:  # noqa: PLR2004
        return Drift(0.0, departures, np.ones(n_parts))
    # What one agent has too much others have too little: of two they are mirror images.
    chance = sqrt(2 * df * n_seen / (n_seen - 1))
    excess = (float((departures**2).sum()) - df) / chance
    of_part, length = float(information.sum()) / n_seen / n_parts, len(blocks.first) / n_parts
    if len(settled.mu) <= MOST_AGENTS:
        likely = weigh_steps(blocks, settled, dispersion=dispersion, n_parts=n_parts)
        walks = 1 - float(likely[0])
        if walks < _SHOWN:
            return Drift(excess, departures, np.ones(n_parts), walks)
        return Drift(
            excess, departures, weigh_parts(STEPS * length * of_part, likely, n_parts), walks
        )
    # The mean square of a random walk about its own mean: see Wiener's process.
    walked = max(0.0, excess - _BY_CHANCE) * chance / float(information[is_seen].sum())
    step = np.array([walked * 6 / n_parts])
    return Drift(excess, departures, weigh_parts(step * of_part, np.ones(1), n_parts))


def weigh_parts(ratios: Floats, chances: Floats, n_parts: int) -> Floats:
    """Return what a result of each part says of now, the newest part first: float64 [parts].

    ratios: float64 [k], of variances of a step from part to part to that of what a part tells of an
    agent. chances: float64 [k], how likely they are. The mean of a walk over the part of age j is
    from its end by a variance of q (j + 1/3), and those of two parts share q (j + 1/2) of the
    younger one; weighted least squares (Aitken 1936), averaged over the ratios.
    """
    age = np.arange(n_parts)
    shared = np.minimum(age[:, None], age) + np.where(age[:, None] == age, 1 / 3, 1 / 2)
    systems = np.eye(n_parts) + ratios[:, None, None] * shared
    told = np.maximum(np.linalg.solve(systems, np.ones((len(ratios), n_parts, 1)))[:, :, 0], 0)
    variance = 1 / told.sum(axis=1)
    weights = chances @ (told * variance[:, None]) / (chances @ variance)
    # Of a fast walk each part bounds the next one from the other side.
    never_more: Floats = np.minimum.accumulate(weights)
    return never_more


def _choose_parts(n_blocks: int, n_agents: int) -> int:
    """Return into how many parts: each has some blocks of each agent."""
    return int(np.clip(2 * n_blocks / max(1, n_agents) / _LEAST_BLOCKS, _FEWEST_PARTS, _MOST_PARTS))


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
