"""The posterior mode of a field and the doubt there, by Newton's method."""

from dataclasses import dataclass

import numpy as np

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats
from arena.ratings.information import Doubt, Information, information
from arena.ratings.likelihood import PairLikelihood

_STEP_TOLERANCE = 1e-9
_ROUNDING = 1e-5
"""Steps below this shrink quadratically; one that does not is rounding noise."""
_SLACK = 1e-10
"""How much of its own size the objective may fall: its rounding."""
_MAX_STEPS = 200


@dataclass(frozen=True)
class Posterior:
    """The mode z [n] under the prior N(0, spread^2), and the doubt there."""

    z: Floats
    doubt: Doubt
    spread: float


@dataclass(frozen=True)
class _Point:
    """The logarithm of the posterior at z, its gradient and minus its second derivatives."""

    z: Floats
    value: float
    gradient: Floats
    information: Information


def posterior_mode(likelihood: PairLikelihood, spread: float, start: Floats) -> Posterior:
    """Return the mode, which is unique: the objective is strictly concave. Raises RatingError.

    start: float64 [n]; it changes the number of steps, and the result by less than 1e-9.
    """
    here, last = _at(likelihood, spread, start), np.inf
    for _ in range(_MAX_STEPS):
        step = here.information.solved(here.gradient)
        here = _climbed(likelihood, spread, here, step)
        size = float(np.abs(step).max())
        if size < _STEP_TOLERANCE or (size < _ROUNDING and size > last / 2):
            return Posterior(here.z, here.information.doubt(), spread)
        last = size
    raise RatingError(f"the ratings of {len(start)} agents did not settle in {_MAX_STEPS} steps")


def _climbed(likelihood: PairLikelihood, spread: float, here: _Point, step: Floats) -> _Point:
    """Return the point after the step, or after less of it while that would go down."""
    there = _at(likelihood, spread, here.z + step)
    while there.value < here.value - _SLACK * abs(here.value):
        step = step / 2
        there = _at(likelihood, spread, here.z + step)
    return there


def _at(likelihood: PairLikelihood, spread: float, z: Floats) -> _Point:
    precision = 1 / spread**2
    found = likelihood.at(z)
    return _Point(
        z,
        found.value - precision * float(z @ z) / 2,
        found.gradient - precision * z,
        information(likelihood.i, likelihood.j, found.curvature, len(z), precision),
    )
