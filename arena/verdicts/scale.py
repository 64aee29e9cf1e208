"""Gaps between two agents as ratings, as Elo and as expected score, one from the other.

The expected score counts a draw as one half. Elo is logistic: 400 points are odds of ten to one.
Close to equality one unit of rating is some 45 points of Elo or 6.5 points of win rate.
"""

from math import isfinite, log10, sqrt
from statistics import NormalDist

from scipy.optimize import brentq

from arena.ratings.base import BETA, DRAW_PROBABILITY, unit_draw_margin
from arena.verdicts.base import VerdictError

_UNIT = sqrt(2) * BETA
_NORMAL = NormalDist()
# In standard deviations of a performance difference: beyond it the score is 0 or 1.
_WIDEST = 30.0
_ELO = 400.0
_MAX_ELO = 4_000.0


def score_of_gap(gap: float, *, draw_probability: float = DRAW_PROBABILITY) -> float:
    """Return the expected score, 0..1, of an agent whose rating is higher by gap."""
    margin, lead = unit_draw_margin(draw_probability), gap / _UNIT
    return (_NORMAL.cdf(lead - margin) + _NORMAL.cdf(lead + margin)) / 2


def gap_of_score(score: float, *, draw_probability: float = DRAW_PROBABILITY) -> float:
    """Return the gap in rating that makes this expected score. Raises VerdictError."""
    if not 0 < score < 1:
        raise VerdictError(f"score must be between 0 and 1, got {score!r}")
    widest = _WIDEST * _UNIT
    # No closed form: with draws the score is a sum of two normal tails.
    lead: float = brentq(
        lambda gap: score_of_gap(gap, draw_probability=draw_probability) - score,
        -widest,
        widest,
        xtol=1e-12,
    )
    return lead


def elo_of_score(score: float) -> float:
    """Return the points of Elo that an expected score stands for. Raises VerdictError."""
    if not 0 < score < 1:
        raise VerdictError(f"score must be between 0 and 1, got {score!r}")
    return _ELO * log10(score / (1 - score))


def score_of_elo(elo: float) -> float:
    """Return the expected score of an agent that is better by so many points of Elo."""
    if not (isfinite(elo) and abs(elo) <= _MAX_ELO):
        raise VerdictError(f"elo must be -{_MAX_ELO:g}..{_MAX_ELO:g}, got {elo!r}")
    return float(1 / (1 + 10 ** (-elo / _ELO)))


def gap_of_elo(elo: float, *, draw_probability: float = DRAW_PROBABILITY) -> float:
    """Return the gap in rating of so many points of Elo. Raises VerdictError."""
    return gap_of_score(score_of_elo(elo), draw_probability=draw_probability)


def gap_of_points(points: float, *, draw_probability: float = DRAW_PROBABILITY) -> float:
    """Return the gap in rating of so many points of win rate above 50 %. Raises VerdictError."""
    return gap_of_score(0.5 + points / 100, draw_probability=draw_probability)
