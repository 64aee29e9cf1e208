"""Mean and covariance of a posterior that is not normal about its mode, by expectation propagation.

Who always wins is better by nobody knows how much: the likelihood is flat above some lead, and the
mode with the curvature there says too little, and too surely. Each row of results is replaced by
the normal factor that leaves the same mean and variance of its lead, given all others, until none
changes (Minka 2001; for probit models Kuss and Rasmussen 2005). Rows are taken all at once and in
their order, so that the same results give the same bits.
"""

from dataclasses import dataclass
from math import pi

import numpy as np

from arena.ratings.counts import Floats
from arena.ratings.likelihood import PairLikelihood, draw_terms, win_terms
from arena.ratings.posterior import Objective, Posterior

_N_SWEEPS = 8
# From factors that nearly fit already.
_N_MORE_SWEEPS = 4
# A full step may swing.
_STEP = 0.7
_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(24)
# The nodes reach a little further than the variance that was thought of.
_WIDER = 1.5
_LEAST = 1e-10


@dataclass(frozen=True)
class Factors:
    """The normal factors of the leads of m rows: precision, and precision times mean, [m] each."""

    precision: Floats
    pull: Floats


@dataclass(frozen=True)
class Propagated:
    """What follows from the results.

    mean [n] and covariance [n, n] of the skills; evidence: the logarithm of how likely the results
    are under what was thought before; factors: to go on from under something similar.
    """

    mean: Floats
    covariance: Floats
    evidence: float
    factors: Factors


class Rows:
    """The rows of results as factors of the leads, and what is thought without them."""

    def __init__(self, objective: Objective) -> None:
        """Read the results of pairs. Raises TypeError for those of teams."""
        likelihood, n = objective.likelihood, objective.n_agents
        if not isinstance(likelihood, PairLikelihood):
            raise TypeError("only results of pairs have leads of two agents")
        self._likelihood, self._prior, self.n_agents = likelihood, objective.prior, n
        m, width = len(likelihood.i), n + likelihood.is_seated
        self.design: Floats = np.zeros((m, width))
        self.design[np.arange(m), likelihood.i] = 1
        self.design[np.arange(m), likelihood.j] = -1
        if likelihood.seat is not None:
            self.design[:, -1] = likelihood.seat

    def before(self, spread: float) -> Floats:
        """Return the precision before any result, links of children to their parents included."""
        precision = np.diag(self._prior.precision(spread, self._likelihood))
        link = 1 / self._prior.link_spread**2
        for child, parent in zip(self._prior.children, self._prior.parents, strict=True):
            precision[[child, parent], [child, parent]] += link
            precision[[child, parent], [parent, child]] -= link
        return precision

    def start(self, posterior: Posterior) -> Factors:
        """Return the factors of Laplace's approximation at the mode."""
        seat = [] if posterior.seat is None else [posterior.seat]
        z = np.append(posterior.z, seat)
        lead, n, margin = self.design @ z, self._likelihood.n_decided, self._likelihood.margin
        parts = [win_terms(lead[:n], margin)]
        if n < len(lead):
            parts.append(draw_terms(lead[n:], margin))
        times = self._likelihood.times
        precision = times * np.concatenate([part.curvature for part in parts])
        slope = times * np.concatenate([part.slope for part in parts])
        return Factors(precision, slope + precision * lead)

    def combine(self, before: Floats, factors: Factors) -> tuple[Floats, Floats]:
        """Return the mean and covariance of all skills."""
        scaled = self.design * factors.precision[:, None]
        precision: Floats = before + scaled.T @ self.design
        covariance = np.linalg.inv(precision).astype(np.float64, copy=False)
        return covariance @ (self.design.T @ factors.pull), covariance

    def log_likelihood(self, lead: Floats) -> Floats:
        """Return what each row says of leads [m, k]."""
        n, margin = self._likelihood.n_decided, self._likelihood.margin
        said = [win_terms(lead[:n], margin).value]
        if n < len(lead):
            said.append(draw_terms(lead[n:], margin).value)
        weighted: Floats = self._likelihood.times[:, None] * np.concatenate(said)
        return weighted


def propagate(objective: Objective, posterior: Posterior) -> tuple[Floats, Floats]:
    """Return the mean [n] and the covariance [n, n] of the skills under the spread of the mode.

    posterior: the mode of results of pairs.
    """
    rows = Rows(objective)
    found = propagate_rows(rows, rows.before(posterior.spread), rows.start(posterior))
    return found.mean, found.covariance


def propagate_rows(
    rows: Rows, before: Floats, start: Factors, *, is_near: bool = False
) -> Propagated:
    """Return what follows from rows of results and the precision before any of them.

    start: factors to begin with; is_near: they are those of something similar.
    """
    factors, n = start, rows.n_agents
    for _ in range(_N_MORE_SWEEPS if is_near else _N_SWEEPS):
        factors = _match_moments(_Cavity(rows, before, factors))
    cavity = _Cavity(rows, before, factors)
    skills, joint = cavity.mean[:n], cavity.covariance[:n, :n]
    return Propagated(skills, joint, cavity.find_evidence(), factors)


class _Cavity:
    """What all other rows and the prior say of the lead of each row: by what its own is weighed."""

    def __init__(self, rows: Rows, before: Floats, factors: Factors) -> None:
        self._rows, self._before, self.factors = rows, before, factors
        self.mean, self.covariance = rows.combine(before, factors)
        lead = rows.design @ self.mean
        variance = ((rows.design @ self.covariance) * rows.design).sum(axis=1)
        others = 1 / variance - factors.precision
        self.is_sound = others > _LEAST
        self.others = np.where(self.is_sound, others, 1.0)
        self.pull = lead / variance - factors.pull
        width = np.sqrt(2 * _WIDER * variance)
        self.nodes = lead[:, None] + width[:, None] * _NODES
        apart = self.nodes - (self.pull / self.others)[:, None]
        # The nodes are those of a normal density, which is taken out again.
        density = rows.log_likelihood(self.nodes) - self.others[:, None] * apart**2 / 2 + _NODES**2
        highest = density.max(axis=1)
        self.shares = _WEIGHTS * np.exp(density - highest[:, None])
        total = self.shares.sum(axis=1)
        self.shares /= total[:, None]
        # How likely each row is, given all others.
        self.log_rows = np.log(total * width) + highest + np.log(self.others / (2 * pi)) / 2

    def find_evidence(self) -> float:
        """Return the logarithm of how likely all results are (Minka 2001, section 3.2)."""
        own, others = self.factors, self.others
        both, pull = others + own.precision, self.pull + own.pull
        by_factors = (np.log(others / both) + pull**2 / both - self.pull**2 / others) / 2
        # The covariance is the inverse of the precision after all results.
        _, volume = np.linalg.slogdet(self.covariance)
        _, volume_before = np.linalg.slogdet(self._before)
        reached = float((self._rows.design.T @ own.pull) @ self.mean)
        return float((self.log_rows - by_factors).sum() + (volume_before + volume + reached) / 2)


def _match_moments(cavity: _Cavity) -> Factors:
    nodes, shares, factors = cavity.nodes, cavity.shares, cavity.factors
    matched = (shares * nodes).sum(axis=1)
    spread = np.maximum((shares * (nodes - matched[:, None]) ** 2).sum(axis=1), _LEAST)
    precision = np.maximum(1 / spread - cavity.others, _LEAST)
    moved = _STEP * cavity.is_sound
    return Factors(
        factors.precision + moved * (precision - factors.precision),
        factors.pull + moved * (matched / spread - cavity.pull - factors.pull),
    )
