"""What is believed of a field whatever its spread, and about the mean instead of the mode.

The fit plugs in one spread. Of few agents, or few results, several explain the field nearly as
well, and how far apart the agents are altogether goes with it; who is above whom hardly does. So
what is believed is averaged over spreads, each as likely as its evidence (Laplace's approximation;
Tierney and Kadane 1986). And who always wins is better by nobody knows how much: the mode lies near
the others, the mean does not (see skewed_posterior).
"""

from math import log
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

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
# A spread so much less likely than the likeliest one is left out.
_NEGLIGIBLE = 1e-3
# Of more agents, or rows of results, each mode with the curvature there is taken for the whole.
_MOST_AGENTS, _MOST_ROWS = 300, 15_000
# As many agents whose skills are known fix their spread to 6 %.
_ENOUGH = 120


class AveragedPosterior(NamedTuple):
    """mean: float64 [n]. covariance: float64 [n, n], joint. above: P(row is above column), [n, n].

    above: closer than a normal gap of that mean and variance, one half on the diagonal.
    """

    mean: Floats
    covariance: Floats
    above: Floats


def average_spreads(objective: Objective, posterior: Posterior) -> AveragedPosterior | None:
    """Return what is believed of the skills whatever the spread.

    posterior: the mode, at the fitted spread. None: it is the mean as well, as far as can be found;
    and of a field without a joint covariance.
    """
    narrow = posterior.uncertainty.variances
    n_free = len(narrow) - len(objective.prior.children)
    if posterior.uncertainty.covariance is None or n_free < 2:  # noqa: PLR2004
        return None
    n_known = float(np.clip(1 - narrow / posterior.spread**2, 0, 1).sum())
    if n_known > _ENOUGH:
        is_small = _is_small(objective)
        return _mix(np.ones(1), [_find_moments(objective, posterior)]) if is_small else None
    start = np.append(posterior.z, [] if posterior.seat is None else [posterior.seat])
    modes = [find_mode(objective, posterior.spread * np.exp(step), start) for step in _STEPS]
    evidence = np.array([_find_evidence(objective, there, n_free) for there in modes])
    likely = np.exp(evidence - evidence.max())
    likely[likely < _NEGLIGIBLE] = 0
    kept = [there for there, share in zip(modes, likely, strict=True) if share]
    shares = likely[likely > 0] / likely.sum()
    return _mix(shares, [_find_moments(objective, there) for there in kept])


def _mix(shares: Floats, parts: list[tuple[Floats, Floats]]) -> AveragedPosterior:
    """Return the mixture of normal parts, each with its mean [n] and covariance [n, n]."""
    means = np.array([mean for mean, _ in parts])
    mean = shares @ means
    covariance, above = np.zeros((2, len(mean), len(mean)))
    for share, (there, joint) in zip(shares, parts, strict=True):
        covariance += share * (joint + np.outer(there - mean, there - mean))
        above += share * find_superiorities(there, joint)
    return AveragedPosterior(mean, covariance, above)


def find_superiorities(mean: Floats, covariance: Floats) -> Floats:
    """Return P(row is above column) of normal skills: [n, n], one half on the diagonal."""
    alone = np.diag(covariance)
    variances = alone[:, None] + alone - 2 * covariance
    np.fill_diagonal(variances, 1.0)
    above: Floats = ndtr((mean[:, None] - mean) / np.sqrt(variances))
    return above


def _find_moments(objective: Objective, posterior: Posterior) -> tuple[Floats, Floats]:
    """Return the mean [n] and the covariance [n, n] of the skills under a spread."""
    if _is_small(objective):
        return propagate(objective, posterior)
    return posterior.z, np.asarray(posterior.uncertainty.covariance)


def _is_small(objective: Objective) -> bool:
    """Say whether the mean can be found in a moment: not of teams, whose rows are of several."""
    likelihood = objective.likelihood
    is_of_pairs = isinstance(likelihood, PairLikelihood)
    return is_of_pairs and objective.n_agents <= _MOST_AGENTS and len(likelihood.i) <= _MOST_ROWS


def _find_evidence(objective: Objective, posterior: Posterior, n_free: int) -> float:
    """Return the logarithm of how likely the results are under a spread, but for a constant."""
    seat = [] if posterior.seat is None else [posterior.seat]
    value = objective.at(np.append(posterior.z, seat), posterior.spread).value
    _, volume = np.linalg.slogdet(np.asarray(posterior.uncertainty.covariance))
    before = ((log(posterior.spread) - _USUAL) / _PRIOR_SD) ** 2
    return float(value - n_free * log(posterior.spread) + (volume - before) / 2)
