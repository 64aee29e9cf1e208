"""How sure the gap between two agents of a large field is, by those alone that met one of the two.

The whole covariance of 10,000 agents is 800 MB; this takes the results of the two and the doubts of
their opponents, which are known. The opponents count as independent of each other given the two:
what else they played is in their doubts. Fields of which all is known are fitted (see settled).
"""

from math import sqrt

import numpy as np

from arena.ratings.base import BETA, MU, RatingError
from arena.ratings.counts import Floats, PairCounts, sum_by_key
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.rankings import weigh_rankings

_UNIT = sqrt(2) * BETA
_PAIR = 2


def gap_variance(
    counts: PairCounts,
    mu: Floats,
    sd: Floats,
    *,
    spread: float,
    draw_probability: float,
    n_sides: int = 2,
) -> float:
    """Return the variance of skill 0 - skill 1.

    counts: the results of agents 0 and 1, against each other and all others. mu, sd: float64 [n],
    settled. spread, draw_probability, n_sides: of the fit; of rankings what they weigh goes by
    these results alone. Raises RatingError for a result of neither.
    """
    if (np.minimum(counts.first, counts.second) >= _PAIR).any():
        raise RatingError("counts must be of agents 0 and 1 and those they met")
    weighed = weigh_rankings(counts, n_sides, draw_probability)
    likelihood = PairLikelihood(
        weighed.counts, len(mu), margin=weighed.margin, weight=weighed.weight
    )
    pulls = likelihood.at((mu - MU) / _UNIT).curvature
    low, high = (order(likelihood.i, likelihood.j) for order in (np.minimum, np.maximum))
    between = float(pulls[high < _PAIR].sum())
    # How strongly each opponent pulls at either agent: float64 [n - 2].
    to = [sum_by_key(high, pulls * (low == agent), len(mu))[_PAIR:] for agent in range(_PAIR)]
    own_precision = (_UNIT / spread) ** 2
    others = np.maximum((_UNIT / sd[_PAIR:]) ** 2 - to[0] - to[1], own_precision) + to[0] + to[1]
    own = [own_precision + between + float((pull - pull**2 / others).sum()) for pull in to]
    cross = between + float((to[0] * to[1] / others).sum())
    # Of the inverse of [[own 0, -cross], [-cross, own 1]].
    return _UNIT**2 * (own[0] + own[1] - 2 * cross) / (own[0] * own[1] - cross**2)
