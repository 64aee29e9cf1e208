"""How sure ratings are whatever the spread of their field, which the fit plugs in.

Of few agents, or few results, several spreads explain the field nearly as well, and how far apart
the agents are altogether goes with it; who is above whom hardly does. So what is believed is
averaged over spreads, each as likely as its evidence (Laplace's approximation; Tierney and Kadane
1986). An interval holds 95 % of that, and reaches further to one side of the rating: who always
wins is better by nobody knows how much (see skewed_posterior).

The ratings themselves stay at the mode. The mean is closer to groups that never lose to each other,
but foretells results worse, and goes on growing with wins that say nothing new.
"""

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from arena.ratings.base import BETA, MAX_SPREAD, SIGMA, Z95
from arena.ratings.counts import Floats, Ints
from arena.ratings.information_matrix import variances_about_mean
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import Objective, Posterior, find_mode
from arena.ratings.skewed_posterior import propagate

# Logarithms of spreads by the fitted one: more above it, as few results hold it down.
_STEPS = (-0.8, -0.4, 0.0, 0.4, 0.8, 1.2, 1.6)
# What is thought of the logarithm of a spread beforehand: about that of SIGMA, with this sd.
_PRIOR_SD = 1.5
_UNIT = sqrt(2) * BETA
_USUAL, _MOST = log(SIGMA / _UNIT), MAX_SPREAD / _UNIT
# A spread so much less likely than the likeliest one is left out.
_NEGLIGIBLE = 1e-3
# Of more agents, or rows of results, each mode with the curvature there is taken for the whole.
_MOST_AGENTS, _MOST_ROWS = 300, 15_000
# As many agents whose skills are known fix their spread to 6 %.
_ENOUGH = 120
# Within so many sd of a part lies more than 95 % of it; halved so often, that is 1e-12 of it.
_FAR, _N_HALVINGS = 3.0, 42


class Part(NamedTuple):
    """A normal part of a mixture: mean [n], covariance [n, n], and the spread that it is under."""

    mean: Floats
    covariance: Floats
    spread: float


class SpreadDoubt(NamedTuple):
    """How sure the modes are. low, high: float64 [n], the ends of 95 %, the mode among them.

    above: float64 [n, n], P(row is above column), one half on the diagonal. spread: of the agents
    of which nothing is known. shares, parts: what is believed, a mixture.
    """

    low: Floats
    high: Floats
    above: Floats
    spread: float
    shares: Floats
    parts: Sequence[Part]

    def find_gap_ends(self, i: Ints, j: Ints) -> tuple[Floats, Floats]:
        """Return between what 95 % of how far agents i [k] are above agents j [k] lies."""
        gaps = np.array([part.mean[i] - part.mean[j] for part in self.parts])
        sd = np.sqrt([find_gap_variances(part.covariance, i, j) for part in self.parts])
        return _find_ends(self.shares, gaps, sd)


def weigh_spreads(objective: Objective, posterior: Posterior) -> SpreadDoubt | None:
    """Return how sure the modes are whatever the spread.

    posterior: at the fitted spread. None: as sure as it says, as far as can be found, and of a
    field without a joint covariance.
    """
    narrow = posterior.uncertainty.variances
    n_free = len(narrow) - len(objective.prior.children)
    if posterior.uncertainty.covariance is None or n_free < 2:  # noqa: PLR2004
        return None
    n_known = float(np.clip(1 - narrow / posterior.spread**2, 0, 1).sum())
    if n_known > _ENOUGH:
        is_small = _is_small(objective)
        return _mix(posterior, np.ones(1), [_find_part(objective, posterior)]) if is_small else None
    start = _join_seat(posterior)
    modes = [find_mode(objective, spread, start) for spread in _list_spreads(posterior.spread)]
    evidence = np.array([_find_evidence(objective, there, n_free) for there in modes])
    likely = np.exp(evidence - evidence.max())
    likely[likely < _NEGLIGIBLE] = 0
    kept = [there for there, share in zip(modes, likely, strict=True) if share]
    shares = likely[likely > 0] / likely.sum()
    return _mix(posterior, shares, [_find_part(objective, there) for there in kept])


def _list_spreads(fitted: float) -> list[float]:
    """Return the spreads that are thought of, none beyond what a fit may come to."""
    return sorted({min(fitted * exp(step), _MOST) for step in _STEPS})


def _mix(posterior: Posterior, shares: Floats, parts: Sequence[Part]) -> SpreadDoubt:
    """Return what a mixture of parts says of the modes."""
    middle = posterior.z.mean()
    means = np.array([part.mean - part.mean.mean() for part in parts])
    sd = np.sqrt([variances_about_mean(part.covariance) for part in parts])
    low, high = (middle + end for end in _find_ends(shares, means, sd))
    above = sum(
        share * find_superiorities(part.mean, part.covariance)
        for share, part in zip(shares, parts, strict=True)
    )
    by_mode = find_superiorities(posterior.z, np.asarray(posterior.uncertainty.covariance))
    spread = sqrt(shares @ np.array([part.spread**2 for part in parts]))
    surer = _choose_surer(np.asarray(above), by_mode)
    # Of who always wins the mode may lie below all that is believed.
    low, high = np.minimum(low, posterior.z), np.maximum(high, posterior.z)
    return SpreadDoubt(low, high, surer, spread, shares, parts)


def _find_ends(shares: Floats, means: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Return between what 95 % of n mixtures of s normal distributions lies: [n] each, by halving.

    shares: [s]. means, sd: [s, n].
    """
    tails = np.array([[ndtr(-Z95)], [ndtr(Z95)]])
    low = np.broadcast_to((means - _FAR * sd).min(axis=0), (len(tails), means.shape[1]))
    high = np.broadcast_to((means + _FAR * sd).max(axis=0), low.shape)
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        is_below = np.einsum("s,esn->en", shares, ndtr((middle[:, None] - means) / sd)) < tails
        low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
    return low[0], high[1]


def _choose_surer(above: Floats, by_mode: Floats) -> Floats:
    """Return the one that is further from one half, pair by pair; by the mode who is above.

    Moments are too careful of who always won: of a gap that is surely not below 0 they say 0.97.
    The mode with its curvature is too careful of all others.
    """
    is_surer = (abs(above - 0.5) > abs(by_mode - 0.5)) & ((above > 0.5) == (by_mode > 0.5))  # noqa: PLR2004
    surer: Floats = np.where(is_surer, above, by_mode)
    # A sum of shares may be more than 1 by rounding.
    return np.clip(surer, 0, 1)


def find_gap_variances(covariance: Floats, i: Ints, j: Ints) -> Floats:
    """Return the variances [k] of the gaps between agents i [k] and agents j [k]."""
    variances: Floats = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
    return np.maximum(variances, 0)


def find_superiorities(mean: Floats, covariance: Floats) -> Floats:
    """Return P(row is above column) of normal skills: [n, n], one half on the diagonal."""
    alone = np.diag(covariance)
    variances = alone[:, None] + alone - 2 * covariance
    np.fill_diagonal(variances, 1.0)
    above: Floats = ndtr((mean[:, None] - mean) / np.sqrt(variances))
    return above


def _find_part(objective: Objective, posterior: Posterior) -> Part:
    """Return the mean and the covariance of the skills under a spread."""
    if _is_small(objective):
        return Part(*propagate(objective, posterior), posterior.spread)
    covariance = np.asarray(posterior.uncertainty.covariance)
    return Part(posterior.z, covariance, posterior.spread)


def _is_small(objective: Objective) -> bool:
    """Say whether the mean can be found in a moment: not of teams, whose rows are of several."""
    likelihood = objective.likelihood
    is_of_pairs = isinstance(likelihood, PairLikelihood)
    return is_of_pairs and objective.n_agents <= _MOST_AGENTS and len(likelihood.i) <= _MOST_ROWS


def _find_evidence(objective: Objective, posterior: Posterior, n_free: int) -> float:
    """Return the logarithm of how likely the results are under a spread, but for a constant."""
    z = _join_seat(posterior)
    value = objective.at(z, posterior.spread).value
    _, volume = np.linalg.slogdet(np.asarray(posterior.uncertainty.covariance))
    if posterior.seat is not None:
        # Of the seat given the skills, which alone stand in that covariance.
        information = objective.likelihood.at(z).curvature.sum() + objective.prior.seat_precision
        volume -= log(information)
    before = ((log(posterior.spread) - _USUAL) / _PRIOR_SD) ** 2
    return float(value - n_free * log(posterior.spread) + (volume - before) / 2)


def _join_seat(posterior: Posterior) -> Floats:
    return np.append(posterior.z, [] if posterior.seat is None else [posterior.seat])
