"""Whether strength drifts: agents that do better or worse than they did before, part by part.

The blocks are cut into parts of equal length in planned order. Of each agent and part the points
are compared with what ratings expect that are the same throughout: that tells who drifts since
when. How fast strength walks, adding N(0, q) from part to part, tells how well a walk foretells the
results (arena.verdicts.walks). The newest part says the most about now.
"""

from functools import partial
from math import nan, sqrt
from typing import Final, NamedTuple

import numpy as np

from arena.ratings.counts import Floats
from arena.ratings.expected_points import expect_points
from arena.ratings.settled import SettledRatings
from arena.verdicts.seed_blocks import SeedBlocks, shuffle_seeds
from arena.verdicts.walks import STEPS, weigh_steps

PARTS = 8
# Old results count less by shorter parts, the more is played.
_MOST_PARTS = 32
# The probability of a walk from which it counts. Pairings know of no walk: where one counted
# beforehand, verdicts would wait for agents that are not sent to meet.
_SHOWN = 0.5
# In which the seeds are shuffled, where several pairs play one and a walk would be told.
_N_ORDERS = 16
# Of larger fields old results count like new ones.
MOST_FOLLOWED: Final = 500
# With fewer departures than that, in standard deviations of chance, nothing walks: agents are then
# further apart than their spread allows for, and a walk would make room for that.
_FEWEST_DEPARTURES = -2.0
# Of the weight of an old result: no less than this is as much as a new one.
_AS_MUCH = 0.99
# Fewer blocks of an agent in a part say nothing of it.
_LEAST_BLOCKS = 2
_LEAST_VARIANCE = 0.05


class Drift(NamedTuple):
    """How strength walks.

    excess: of the departures over those of ratings that stay, in standard deviations. departures:
    float64 [PARTS, n], of each agent, in standard deviations of chance. weights: float64 [parts],
    what a result says of now, 1 where nothing drifts; those of the newest part first. chance: that
    it walks; nan where that is not asked: of very large fields, of few blocks, and where agents
    depart less than by chance.
    """

    excess: float
    departures: Floats
    weights: Floats
    chance: float = nan

    @property
    def is_discounting(self) -> bool:
        """Whether old results count for less."""
        return bool(self.weights.min() < _AS_MUCH)


class _Departures(NamedTuple):
    """What the parts say of ratings that stay.

    departures, excess: as of Drift. information: on an agent, of all blocks.
    """

    departures: Floats
    excess: float = 0.0
    information: float = 0.0


def estimate_drift(
    blocks: SeedBlocks, settled: SettledRatings, *, dispersion: float, pair_variance: float = 0.0
) -> Drift:
    """Return how the strength of agents of these ratings walks.

    pair_variance: of what leads of pairs have of their own, always, in units of rating, squared.
    """
    n_blocks = len(blocks.first)
    seen = _measure_departures(blocks, settled, dispersion)
    n_parts = _choose_parts(n_blocks, len(settled.mu))
    steady = Drift(seen.excess, seen.departures, np.ones(n_parts))
    if not _is_followed(blocks, seen, len(settled.mu)):
        return steady
    weigh = partial(
        weigh_steps,
        blocks,
        settled,
        dispersion=dispersion,
        n_parts=n_parts,
        pair_variance=pair_variance,
    )
    likely = weigh()
    if likely[0] <= 1 - _SHOWN:
        # Other orders of the seeds only where they may matter.
        likely = weigh(other_orders=shuffle_seeds(blocks, _N_ORDERS))
    drift = steady._replace(chance=1 - float(likely[0]))
    if drift.chance < _SHOWN:
        return drift
    ratios = STEPS * n_blocks / n_parts * seen.information / n_parts
    return drift._replace(weights=weigh_parts(ratios, likely, n_parts))


def _is_followed(blocks: SeedBlocks, seen: _Departures, n_agents: int) -> bool:
    """Return whether it is asked at all how well walks foretell the results."""
    n_met = len(np.union1d(blocks.first, blocks.second))
    # With less than a block of each agent in a part the spread of the field is told no better.
    is_enough = 2 * len(blocks.first) >= PARTS * n_met
    is_departing = seen.information > 0 and seen.excess >= _FEWEST_DEPARTURES
    return is_enough and is_departing and n_agents <= MOST_FOLLOWED


def _measure_departures(
    blocks: SeedBlocks, settled: SettledRatings, dispersion: float
) -> _Departures:
    residual, variance, information, n_blocks = _tabulate(blocks, settled, dispersion)
    is_seen = n_blocks >= _LEAST_BLOCKS
    departures = np.where(is_seen, residual / np.sqrt(np.maximum(variance, _LEAST_VARIANCE)), 0.0)
    # A rating takes one degree of freedom of each agent.
    df = float(is_seen.sum() - is_seen.any(axis=0).sum())
    n_seen = int(is_seen.any(axis=0).sum())
    if df <= 0 or n_seen < 2:  # noqa: PLR2004
        return _Departures(departures)
    # What one agent has too much others have too little: of two they are mirror images.
    by_chance = sqrt(2 * df * n_seen / (n_seen - 1))
    excess = (float((departures**2).sum()) - df) / by_chance
    return _Departures(departures, excess, float(information.sum()) / n_seen)


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
    information = np.maximum(
        np.linalg.solve(systems, np.ones((len(ratios), n_parts, 1)))[:, :, 0], 0
    )
    variance = 1 / information.sum(axis=1)
    weights = chances @ (information * variance[:, None]) / (chances @ variance)
    # Of a fast walk each part bounds the next one from the other side.
    decreasing: Floats = np.minimum.accumulate(weights)
    return decreasing


def _choose_parts(n_blocks: int, n_agents: int) -> int:
    """Return into how many parts: each has some blocks of each agent."""
    return int(np.clip(2 * n_blocks / max(1, n_agents) / _LEAST_BLOCKS, PARTS, _MOST_PARTS))


def _tabulate(
    blocks: SeedBlocks, settled: SettledRatings, dispersion: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return residual points, their variance, information and blocks: [PARTS, n] each."""
    part = np.arange(len(blocks.first)) * PARTS // max(1, len(blocks.first))
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
