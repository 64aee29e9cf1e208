"""The posterior mode of a field and the joint covariance there, by Newton's method."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from arena.ratings.base import RatingError
from arena.ratings.likelihood import Floats, PairLikelihood

_STEP_TOLERANCE = 1e-9
_ROUNDING = 1e-5
"""Steps below this shrink quadratically; one that does not is rounding noise."""
_SLACK = 1e-10
"""How much of its own size the objective may rise: its rounding."""
_MAX_STEPS = 200


@dataclass(frozen=True)
class Posterior:
    """The mode z [n] under the prior N(0, spread^2), and the covariance [n, n] there."""

    z: Floats
    covariance: Floats
    spread: float

    @property
    def trace(self) -> float:
        """The sum of the variances."""
        return float(np.trace(self.covariance))


def posterior_mode(likelihood: PairLikelihood, spread: float, start: Floats) -> Posterior:
    """Return the mode, which is unique: the objective is strictly concave. Raises RatingError.

    start: float64 [n]; it changes the number of steps, and the result by less than 1e-9.
    """
    here, last = _at(likelihood, spread, start), np.inf
    for _ in range(_MAX_STEPS):
        factor = _factor(here.information)
        step, _ = lapack.dpotrs(factor, here.gradient, lower=1)
        here = _climbed(likelihood, spread, here, step)
        size = float(np.abs(step).max())
        if size < _STEP_TOLERANCE or (size < _ROUNDING and size > last / 2):
            return Posterior(here.z, _inverse(_factor(here.information)), spread)
        last = size
    raise RatingError(f"the ratings of {len(start)} agents did not settle in {_MAX_STEPS} steps")


@dataclass(frozen=True)
class _Point:
    """The logarithm of the posterior at z, its gradient and minus its Hessian."""

    z: Floats
    value: float
    gradient: Floats
    information: Floats


def _at(likelihood: PairLikelihood, spread: float, z: Floats) -> _Point:
    precision = 1 / spread**2
    evaluation = likelihood.at(z)
    information = evaluation.information
    information.flat[:: len(z) + 1] += precision
    value = evaluation.value - precision * float(z @ z) / 2
    return _Point(z, value, evaluation.gradient - precision * z, information)


def _climbed(likelihood: PairLikelihood, spread: float, here: _Point, step: Floats) -> _Point:
    """Return the point after the step, or after less of it while that would go down."""
    there = _at(likelihood, spread, here.z + step)
    while there.value < here.value - _SLACK * abs(here.value):
        step = step / 2
        there = _at(likelihood, spread, here.z + step)
    return there


def _factor(information: Floats) -> Floats:
    """Return the lower Cholesky factor."""
    factor: Floats
    factor, status = lapack.dpotrf(information, lower=1)
    if status:
        raise RatingError(f"the information matrix is not positive definite (row {status})")
    return factor


def _inverse(factor: Floats) -> Floats:
    lower, _ = lapack.dpotri(factor, lower=1)
    lower = np.tril(lower)
    inverse: Floats = lower + np.tril(lower, -1).T
    return inverse
