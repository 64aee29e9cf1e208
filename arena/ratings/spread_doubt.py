"""How much wider intervals are for what is not known of the spread of a field.

The fit plugs in one spread. Of few agents, or few results, several explain the field nearly as
well, and how far apart the agents are altogether goes with it; who is above whom hardly does. So
the variance of each agent about the field's mean is that of the mixture over spreads, each as
likely as its evidence (Laplace's approximation; Tierney and Kadane 1986), and about the rating,
which is the mode, though the mean may lie elsewhere.
"""

from math import log

import numpy as np

from arena.ratings.base import BETA, SIGMA
from arena.ratings.counts import Floats
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import Objective, Posterior, find_mode
from arena.ratings.skewed_posterior import propagate

# Logarithms of spreads by the fitted one: more above it, as few results hold it down.
_STEPS = (-0.8, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6)
# What is thought of the logarithm of a spread beforehand: about that of SIGMA, with this sd.
_PRIOR_SD = 1.5
_USUAL = log(SIGMA / (np.sqrt(2) * BETA))
# Agents times rows of results: of more, each mode with the curvature there is taken for the whole.
_MOST_NUMBERS = 100_000
# As many agents whose skills are known fix their spread to 6 %.
_ENOUGH = 120


def widen_variances(objective: Objective, posterior: Posterior) -> Floats:
    """Return the variance of each agent about the field's mean, whatever the spread: [n].

    posterior: at the fitted spread. A field with very many known agents stays as it is, and so does
    one without a joint covariance.
    """
    narrow = posterior.uncertainty.variances
    n_free = len(narrow) - len(objective.prior.children)
    n_known = float(np.clip(1 - narrow / posterior.spread**2, 0, 1).sum())
    if posterior.uncertainty.covariance is None or n_known > _ENOUGH or n_free < 2:  # noqa: PLR2004
        return narrow
    seat = [] if posterior.seat is None else [posterior.seat]
    start = np.append(posterior.z, seat)
    about_mean = posterior.z - posterior.z.mean()
    weights, squares = [], []
    for step in _STEPS:
        spread = posterior.spread * float(np.exp(step))
        there = find_mode(objective, spread, start)
        weights.append(_find_evidence(objective, there, n_free))
        mean, variances = _find_moments(objective, there)
        squares.append(variances + (mean - mean.mean() - about_mean) ** 2)
    likely = np.exp(np.array(weights) - max(weights))
    mixed: Floats = (likely / likely.sum()) @ np.array(squares)
    return mixed


def _find_moments(objective: Objective, posterior: Posterior) -> tuple[Floats, Floats]:
    """Return the mean of each skill under a spread, and its variance about the field's mean."""
    likelihood = objective.likelihood
    is_small = objective.n_agents * len(likelihood.i) <= _MOST_NUMBERS
    if not isinstance(likelihood, PairLikelihood) or not is_small:
        return posterior.z, posterior.uncertainty.variances
    mean, joint = propagate(objective, posterior)
    return mean, np.diag(joint) - 2 * joint.mean(axis=1) + joint.mean()


def _find_evidence(objective: Objective, posterior: Posterior, n_free: int) -> float:
    """Return the logarithm of how likely the results are under a spread, but for a constant."""
    seat = [] if posterior.seat is None else [posterior.seat]
    value = objective.at(np.append(posterior.z, seat), posterior.spread).value
    _, volume = np.linalg.slogdet(np.asarray(posterior.uncertainty.covariance))
    before = ((log(posterior.spread) - _USUAL) / _PRIOR_SD) ** 2
    return float(value - n_free * log(posterior.spread) + (volume - before) / 2)
