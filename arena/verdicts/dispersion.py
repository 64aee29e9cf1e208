"""How much the results of seed blocks vary, against what the rating model expects.

The model counts the two games of a block as independent. Where one decides the other, as with two
deterministic agents, there is less evidence than games: settle the rating with the weight
1 / dispersion. From the first block on: what is measured is shrunk towards a careful guess, so that
a few blocks that happen to vary little are no reason to be bold.
"""

from math import sqrt

import numpy as np

from arena.ratings.base import BETA, DRAW_PROBABILITY
from arena.ratings.counts import Floats, Ints
from arena.ratings.expected_points import expect_points
from arena.verdicts.base import VerdictError
from arena.verdicts.sprt import BLOCKS

# What is thought of blocks before they are seen, half way to games that repeat each other, and how
# many blocks of equal agents that weighs.
GUESS, GUESS_BLOCKS = 1.5, 10
# Of a game without draws, of equal agents: no variance is larger.
_MOST_VARIANCE = 0.25
_UNIT = sqrt(2) * BETA
_POINTS = np.arange(BLOCKS) / 2


def measure_dispersion(
    mu: Floats,
    first: Ints,
    second: Ints,
    outcomes: Ints,
    *,
    draw_probability: float = DRAW_PROBABILITY,
    seat: float = 0.0,
) -> float:
    """Return the variance of the points of blocks by that of two independent games, 1 or more.

    first, second: int64 [m]. outcomes: int64 [m, 5], how often the first agent got 0, 1/2, .. 2
    points of a block with the second. seat: what sitting first is worth. Raises VerdictError for
    columns that do not fit.
    """
    if outcomes.shape != (len(first), BLOCKS) or len(first) != len(second):
        raise VerdictError(f"outcomes must be [{len(first)}, {BLOCKS}], got {outcomes.shape}")
    n_blocks = outcomes.sum(axis=1)
    gap = mu[first] - mu[second]
    mean, variance, _ = expect_points(gap, draw_probability=draw_probability, seat=seat)
    # Squares about what the ratings expect, not about the mean: what they miss is variance, too.
    squares = float((outcomes * (_POINTS - 2 * mean[:, None]) ** 2).sum())
    return _shrink(squares, float((n_blocks * 2 * variance).sum()), games_of_block=2)


def measure_sum_dispersion(
    lead: Floats, n_games: Ints, points: Floats, *, draw_probability: float = DRAW_PROBABILITY
) -> float:
    """Return the same of blocks of any number of games, as in games of teams; 1 or more.

    lead: float64 [b], how far the first side is ahead, in standard deviations of a game. n_games:
    int64 [b], 1 or more. points: float64 [b], what the first side got of them, a win 1, a draw
    one half. Raises VerdictError for columns that do not fit.
    """
    if not len(lead) == len(n_games) == len(points):
        raise VerdictError(
            f"lead, n_games and points must be of one length, got {len(lead)}, {len(n_games)} and "
            f"{len(points)}"
        )
    mean, variance, _ = expect_points(lead * _UNIT, draw_probability=draw_probability)
    squares = float(((points - n_games * mean) ** 2).sum())
    games_of_block = float(n_games.mean()) if len(n_games) else 1.0
    return _shrink(squares, float((n_games * variance).sum()), games_of_block=games_of_block)


def _shrink(squares: float, expected: float, *, games_of_block: float) -> float:
    """Return the dispersion, 1 or more, by squares seen and expected of all blocks; 1 of none."""
    if not expected:
        return 1.0
    # Blocks of agents far apart vary little, and say as much less about how much they vary.
    guessed = GUESS_BLOCKS * games_of_block * _MOST_VARIANCE
    return max(1.0, (GUESS * guessed + squares) / (guessed + expected))
