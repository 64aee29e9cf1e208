"""What a field may look like before any result: one group of agents, or two far apart.

One normal spread explains neither a field with a few agents that are far ahead nor two generations
of agents of which the elder always loses: it draws them together, as nothing but the prior says how
far apart they are. So besides fields of any spread (one normal, whose logarithm is about that of
SIGMA) those of two groups are thought of: in each all are about the group's own mean, which may lie
anywhere. The groups are those above and below the cuts that the results say least about.
"""

from collections.abc import Iterator
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.base import BETA, SIGMA
from arena.ratings.counts import Bools, Floats
from arena.ratings.posterior import Posterior
from arena.ratings.skewed_posterior import Factors, Rows

STEPS = (-0.8, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6)
"""Logarithms of spreads by the fitted one: more above it, as few results hold it down."""
# What is thought of the logarithm of a spread: about that of SIGMA, with this sd.
_PRIOR_SD = 1.0
_USUAL = log(SIGMA / (sqrt(2) * BETA))
# One field in ten is thought to fall into two groups, of which the agents may be as close as those
# of one training run, and whose means have these sd, in standard deviations of a game's lead.
_SPLIT = 0.1
_WITHIN = (-1.6, -0.8, 0.0)
_APART = (1.5, 6.0)
_N_CUTS = 3


class Shape(NamedTuple):
    """log_prior: of how probable it is. precision: of the skills before any result, [w, w]."""

    log_prior: float
    precision: Floats


def weigh_spread(spread: float) -> float:
    """Return the logarithm of how probable a spread is before any result, but for a constant."""
    return -(((log(spread) - _USUAL) / _PRIOR_SD) ** 2) / 2


def list_spreads(rows: Rows, posterior: Posterior) -> Iterator[Shape]:
    """Yield fields of one group, the fitted spread among them."""
    for step in STEPS:
        spread = posterior.spread * float(np.exp(step))
        log_prior = log((1 - _SPLIT) / len(STEPS)) + weigh_spread(spread)
        yield Shape(log_prior, rows.before(spread))


def list_splits(rows: Rows, posterior: Posterior, factors: Factors) -> Iterator[Shape]:
    """Yield fields of two groups, cut where the factors of the results say least."""
    cuts = _find_cuts(rows, posterior, factors)
    log_share = log(_SPLIT / (len(cuts) * len(_WITHIN) * len(_APART)))
    for is_above in cuts:
        for step in _WITHIN:
            spread = posterior.spread * float(np.exp(step))
            for apart in _APART:
                precision = rows.before(spread)
                for group in (np.flatnonzero(is_above), np.flatnonzero(~is_above)):
                    # Of what all of a group share only the prior of its mean is known.
                    shared = 1 / (len(group) + (spread / apart) ** 2)
                    precision[np.ix_(group, group)] -= shared / spread**2
                yield Shape(log_share + weigh_spread(spread), precision)


def _find_cuts(rows: Rows, posterior: Posterior, factors: Factors) -> list[Bools]:
    """Return who is above each of the cuts of the order across which least is known: bool [n]."""
    n = rows.n_agents
    order = np.argsort(-posterior.z, kind="stable")
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    known = []
    for n_above in range(1, n):
        crossing = rows.design[:, :n] @ (place < n_above)
        known.append(float(np.abs(crossing) @ factors.precision))
    least = np.argsort(known, kind="stable")[:_N_CUTS]
    return [place <= cut for cut in least]
