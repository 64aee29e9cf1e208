"""Whether strength drifts: agents that do better or worse than they did before, part by part.

The blocks are cut into parts of equal length in planned order. Of each agent and part the points
are compared with what ratings expect that are the same throughout: that tells who drifts since
when. How fast strength walks, adding N(0, q) from part to part, tells how well a walk foretells the
results (arena.verdicts.walks), and what it leads to (arena.verdicts.walking_belief).
"""

from functools import partial
from math import nan, sqrt
from typing import Final, NamedTuple

import numpy as np

from arena.pairing.base import COUPLE
from arena.ratings.counts import Floats
from arena.ratings.expected_points import expect_points
from arena.ratings.settled import SettledRatings
from arena.verdicts.seed_blocks import SeedBlocks, shuffle_seeds
from arena.verdicts.walks import weigh_steps

PARTS = 8
# The more is played, the shorter are the parts in which a walk is followed.
_MOST_PARTS = 32
# How probable it is beforehand that nothing walks, of agents that stay what they are and of others.
_STEADY, _STEADY_OF_OTHERS = 0.8, 0.7
# The probability of a walk from which it counts; and if agents may change, and most blocks have a
# seed of their own: then it is no less to be thought of because it is unlikely.
_LIKELY, _LEAST_CHANCE = 0.5, 1e-4
# In which the seeds are shuffled, where several pairs play one and a walk is likely.
_N_ORDERS = 16
# Of larger fields no walk is thought of.
MOST_FOLLOWED: Final = 500
# With fewer departures than that, in standard deviations of chance, nothing walks: agents are then
# further apart than their spread allows for, and a walk would make room for that.
# Two depart by mirror images, so that theirs is never below -1.87: of them what is as seldom.
_FEWEST_DEPARTURES, _FEWEST_OF_TWO = -2.0, -1.43
# Fewer blocks of an agent in a part say nothing of it.
_LEAST_BLOCKS = 2
_LEAST_VARIANCE = 0.05


class Drift(NamedTuple):
    """How strength walks.

    excess: of the departures over those of ratings that stay, in standard deviations. departures:
    float64 [PARTS, n], of each agent, in standard deviations of chance. chance: that it walks; nan
    where that is not asked: of very large fields, of few blocks, and where agents depart less than
    by chance. speeds: float64 [k], how likely each of STEPS is; None where that it may walk does
    not count. n_parts: in which the blocks were looked at.
    """

    excess: float
    departures: Floats
    chance: float = nan
    speeds: Floats | None = None
    n_parts: int = PARTS

    @property
    def is_likely(self) -> bool:
        """Whether it walks rather than not."""
        return self.chance >= _LIKELY


class _Departures(NamedTuple):
    """What the parts say of ratings that stay.

    departures, excess: as of Drift. information: on an agent, of all blocks.
    """

    departures: Floats
    excess: float = 0.0
    information: float = 0.0


def estimate_drift(
    blocks: SeedBlocks,
    settled: SettledRatings,
    *,
    dispersion: float,
    pair_variance: float = 0.0,
    may_change: bool = False,
) -> Drift:
    """Return how the strength of agents of these ratings walks.

    pair_variance: of what leads of pairs have of their own, always, in units of rating, squared.
    may_change: whether nobody knows that an agent stays what it is.
    """
    parts = _measure_departures(blocks, settled, dispersion)
    n_parts = _choose_parts(len(blocks.first), len(settled.mu))
    drift = Drift(parts.excess, parts.departures, n_parts=n_parts)
    if not _is_followed(blocks, parts, len(settled.mu)):
        return drift
    weigh = partial(
        weigh_steps,
        blocks,
        settled,
        dispersion=dispersion,
        n_parts=n_parts,
        pair_variance=pair_variance,
        steady=_STEADY_OF_OTHERS if may_change else _STEADY,
    )
    likely = weigh()
    if likely[0] <= 1 - _LIKELY:
        # Other orders of the seeds only where they may matter.
        likely = weigh(other_orders=shuffle_seeds(blocks, _N_ORDERS))
    chance = float(likely[1:].sum())
    # Next to other orders of the seeds a walk seldom becomes unlikely, however much is played.
    are_alone = 2 * len(np.unique(blocks.seed)) > len(blocks.seed)
    if chance < (_LEAST_CHANCE if may_change and are_alone else _LIKELY):
        return drift._replace(chance=chance)
    return drift._replace(chance=chance, speeds=likely)


def _is_followed(blocks: SeedBlocks, parts: _Departures, n_agents: int) -> bool:
    """Return whether it is asked at all how well walks foretell the results."""
    n_met = len(np.union1d(blocks.first, blocks.second))
    # With less than a block of each agent in a part the spread of the field is told no better.
    is_enough = 2 * len(blocks.first) >= PARTS * n_met
    fewest = _FEWEST_DEPARTURES if n_met > COUPLE else _FEWEST_OF_TWO
    is_departing = parts.information > 0 and parts.excess >= fewest
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
    if df <= 0 or n_seen < COUPLE:
        return _Departures(departures)
    # What one agent has too much others have too little: of two they are mirror images.
    by_chance = sqrt(2 * df * n_seen / (n_seen - 1))
    excess = (float((departures**2).sum()) - df) / by_chance
    return _Departures(departures, excess, float(information.sum()) / n_seen)


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
