"""How sure the draw margin is, as far as ratings depend on it.

Where most games are drawn it is a scale: of a margin that is a tenth wider, all skills are a tenth
further apart.
"""

from math import exp, sqrt

import numpy as np

from arena.ratings.counts import Floats
from arena.ratings.draw_margin import LEAST_MARGIN, MOST_MARGIN
from arena.ratings.information_matrix import variances_about_mean
from arena.ratings.model_evidence import Candidate, Evidence

# Of the logarithm of the margin: the step of the differences by which its doubt is found.
_STEP = 0.15
_MOST_SD = 0.5
# Nodes of Gauss and Hermite, in sd: the fitted margin is one of them.
_NODES = (-sqrt(3), 0.0, sqrt(3))
# A margin that moves no skill by so much of its own doubt is left as it is.
_LEAST_SHIFT = 0.25


def list_margins(evidence: Evidence, fitted: Candidate) -> list[float]:
    """Return the margins that are thought of: the fitted one alone where no rating depends on it.

    fitted: the candidate of the fitted spread and margin.
    """
    margin, spread = fitted.objective.likelihood.margin, fitted.posterior.spread
    lower, upper = (
        evidence.find(evidence.objective.with_margin(limit_margin(margin * exp(step))), spread)
        for step in (-_STEP, _STEP)
    )
    curvature = (2 * fitted.evidence - lower.evidence - upper.evidence) / _STEP**2
    sd = min(_MOST_SD, 1 / sqrt(max(curvature, _MOST_SD**-2)))
    moved = (_center_skills(upper) - _center_skills(lower)) * sd / (2 * _STEP)
    doubts = np.sqrt(variances_about_mean(np.asarray(fitted.posterior.uncertainty.covariance)))
    if (abs(moved) < _LEAST_SHIFT * doubts).all():
        return [margin]
    return [limit_margin(margin * exp(node * sd)) for node in _NODES]


def limit_margin(margin: float) -> float:
    """Return the nearest margin that a fit may come to."""
    return min(max(margin, LEAST_MARGIN), MOST_MARGIN)


def _center_skills(candidate: Candidate) -> Floats:
    z: Floats = candidate.posterior.z - candidate.posterior.z.mean()
    return z
