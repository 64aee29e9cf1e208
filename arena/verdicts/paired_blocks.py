"""What paired blocks say about two agents: score, Elo, normalised Elo, and who is better.

All by the outcomes of blocks of two games with the seats exchanged, whose variance an opening that
favours a seat does not inflate. Source: Van den Bergh, "Normalized Elo, a practical guide"; the
variance of a ratio of mean and standard deviation by the delta method, for a normal score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np

from arena.ratings.base import Z95
from arena.ratings.counts import Ints
from arena.verdicts.base import VerdictError
from arena.verdicts.sprt import BLOCKS, ELO_PER_T, EloEstimate, estimate_elo

# What A got of the two games, by cell.
POINTS = ("0", "1/2", "1", "3/2", "2")
_NORMAL = NormalDist()
_VALUES = np.linspace(0, 1, BLOCKS)


@dataclass(frozen=True)
class PairedResult:
    """What the blocks of two agents say, for the first of them.

    score: the mean, 0..1. split: the share of blocks that gave each agent one point. elo,
    normalised: points, with an interval of 95 %; normalised is None while all blocks are alike.
    los: the likelihood of superiority, P(A is better), with a flat prior.
    """

    n_blocks: int
    score: float
    split: float
    elo: EloEstimate
    normalised: EloEstimate | None
    los: float


def compare_blocks(counts: Sequence[int] | Ints) -> PairedResult | None:
    """Return what blocks say: int [5], 0, 1/2, 1, 3/2 and 2 points; None without any.

    After a sequential test all of it leans to the side of its verdict. Raises VerdictError.
    """
    if len(counts) != BLOCKS:
        raise VerdictError(f"counts must be of {BLOCKS} cells, got {len(counts)}")
    elo, table = estimate_elo(counts), np.asarray(counts)
    n_blocks = int(table.sum())
    if not n_blocks:
        return None
    shares = table / n_blocks
    score = float(shares @ _VALUES)
    sd = sqrt(float(shares @ (_VALUES - score) ** 2))
    lead = score - 0.5
    # All blocks alike: without a variance they only say which side is ahead.
    los = 0.5 + 0.5 * (lead > 0) - 0.5 * (lead < 0)
    if sd:
        los = _NORMAL.cdf(lead / sd * sqrt(n_blocks))
    return PairedResult(
        n_blocks=n_blocks,
        score=score,
        split=float(shares[BLOCKS // 2]),
        elo=elo,
        normalised=_normalise_elo(lead, sd, n_blocks) if sd else None,
        los=los,
    )


def _normalise_elo(lead: float, sd: float, n_blocks: int) -> EloEstimate:
    """Return the lead in standard deviations of a game, of which a block has half the variance."""
    t = lead / sd
    # Delta method: mean / sd of n normal scores has the variance (1 + t^2 / 2) / n.
    half = Z95 * sqrt((1 + t**2 / 2) / n_blocks)
    # t counts standard deviations of a block, the mean of two games: sqrt(2) times as many as of a
    # game.
    points = (ELO_PER_T / sqrt(2) * bound for bound in (t, t - half, t + half))
    return EloEstimate(*points)
