"""How likely results are under a spread of skills, scales of single agents and a draw margin.

By Laplace's approximation about the mode of the skills (Tierney and Kadane 1986).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from arena.ratings.base import BETA, SIGMA
from arena.ratings.counts import Floats
from arena.ratings.draw_margin import log_prior
from arena.ratings.posterior import Objective, Posterior, find_mode

# What is thought of the logarithm of a spread beforehand: about that of SIGMA, with this sd.
_PRIOR_SD = 1.5
_USUAL = log(SIGMA / (sqrt(2) * BETA))
# The least likely, of so much together, are left out.
_NEGLIGIBLE = 0.005
# Mirror images are as likely but for rounding, and stay or go together.
_AS_LIKELY = 1 - 1e-6


class Candidate(NamedTuple):
    """The mode under an objective and a spread; evidence: the logarithm of how likely they are."""

    objective: Objective
    posterior: Posterior
    evidence: float


@dataclass(frozen=True)
class Evidence:
    """What finds candidates. posterior: the fitted one, from which modes are sought.

    given_margin: the draw margin of the game, where it is fitted; else 0.
    """

    objective: Objective
    posterior: Posterior
    given_margin: float = 0.0

    def find(self, objective: Objective, spread: float) -> Candidate:
        """Return the candidate of a spread; objective: the fitted one, with a margin or scales."""
        mode = find_mode(objective, spread, join_seat(self.posterior))
        evidence = weigh_mode(objective, mode)
        if self.given_margin:
            evidence += log_prior(objective.likelihood.margin, self.given_margin)
        return Candidate(objective, mode, evidence)


def choose_likely(candidates: Sequence[Candidate]) -> tuple[list[Candidate], Floats]:
    """Return the candidates that are likely enough to matter, and their shares of one."""
    evidence = np.array([candidate.evidence for candidate in candidates])
    likely = np.exp(evidence - evidence.max())
    likely /= likely.sum()
    in_order = np.sort(likely)
    least = in_order[np.cumsum(in_order) >= _NEGLIGIBLE][0]
    likely[likely < least * _AS_LIKELY] = 0
    likely_candidates = [
        candidate for candidate, share in zip(candidates, likely, strict=True) if share
    ]
    return likely_candidates, likely[likely > 0] / likely.sum()


def weigh_mode(objective: Objective, posterior: Posterior) -> float:
    """Return the logarithm of how likely the results are under a spread, but for a constant."""
    value = objective.at(join_seat(posterior), posterior.spread).value
    _, volume = np.linalg.slogdet(np.asarray(posterior.uncertainty.covariance))
    if posterior.seat is not None:
        # Of the seat given the skills, which alone stand in that covariance.
        information = objective.likelihood.at(join_seat(posterior)).curvature.sum()
        volume -= log(information + objective.prior.seat_precision)
    before = ((log(posterior.spread) - _USUAL) / _PRIOR_SD) ** 2
    n_free = objective.n_agents - len(objective.prior.children)
    evidence = value - n_free * log(posterior.spread) + (volume - before) / 2
    if (scales := objective.prior.scales) is not None:
        evidence += scales.log_share - np.log(scales.of_agents).sum()
    return float(evidence)


def join_seat(posterior: Posterior) -> Floats:
    """Return the skills with what sitting first is worth, where that is fitted."""
    return np.append(posterior.z, [] if posterior.seat is None else [posterior.seat])
