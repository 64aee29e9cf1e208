"""Mean and covariance of a posterior that is not normal about its mode, by expectation propagation.

Who always wins is better by nobody knows how much: the likelihood is flat above some lead, and the
mode with the curvature there says too little, and too surely. Each row of results is replaced by
the normal factor that leaves the same mean and variance of its lead, given all others, until none
changes (Minka 2001; for probit models Kuss and Rasmussen 2005). Rows are taken all at once and in
their order, so that the same results give the same bits.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_ndtr

from arena.ratings.counts import Floats, sum_by_key
from arena.ratings.likelihood import PairLikelihood, draw_terms, win_terms
from arena.ratings.posterior import Objective, Posterior

_N_SWEEPS = 8
# A full step may swing.
_STEP = 0.7
_NODES, _WEIGHTS = np.polynomial.hermite.hermgauss(24)
# The nodes reach a little further than the variance that was thought of.
_WIDER = 1.5
_LEAST = 1e-10


@dataclass(frozen=True)
class _Factors:
    """The normal factors of the leads of m rows: precision, and precision times mean, [m] each."""

    precision: Floats
    pull: Floats


class _Rows:
    """The rows of results as factors of the leads, and what is thought without them."""

    def __init__(self, objective: Objective, likelihood: PairLikelihood, spread: float) -> None:
        self._likelihood, self._prior = likelihood, objective.prior
        self._alone = objective.prior.precision(spread, likelihood)

    @cached_property
    def before(self) -> Floats:
        """The precision before any result, links of children to their parents included."""
        precision = np.diag(self._alone)
        link = 1 / self._prior.link_spread**2
        for child, parent in zip(self._prior.children, self._prior.parents, strict=True):
            precision[[child, parent], [child, parent]] += link
            precision[[child, parent], [parent, child]] -= link
        return precision

    def start(self, z: Floats) -> _Factors:
        """Return the factors of Laplace's approximation at the mode."""
        lead, n, margin = self.leads(z), self._likelihood.n_decided, self._likelihood.margin
        parts = [win_terms(lead[:n], margin)]
        if n < len(lead):
            parts.append(draw_terms(lead[n:], margin))
        times = self._likelihood.times
        precision = times * np.concatenate([part.curvature for part in parts])
        slope = times * np.concatenate([part.slope for part in parts])
        return _Factors(precision, slope + precision * lead)

    def combine(self, factors: _Factors) -> tuple[Floats, Floats]:
        """Return the mean and covariance of all skills."""
        precision = self.before + self._add_up(factors.precision)
        covariance = np.linalg.inv(precision).astype(np.float64, copy=False)
        return covariance @ self._likelihood.pull(factors.pull), covariance

    def _add_up(self, precision: Floats) -> Floats:
        """Return what leads of these precisions [m] add to the precision of skills and seat."""
        likelihood, n = self._likelihood, self._likelihood.n_agents
        one_way = sum_by_key(likelihood.i * n + likelihood.j, precision, n * n).reshape(n, n)
        both_ways = one_way + one_way.T
        added = np.diag(both_ways.sum(axis=1)) - both_ways
        if not likelihood.is_seated:
            return added
        cross = likelihood.seat_curvature(precision)
        together: Floats = np.block([[added, cross[:, None]], [cross, precision.sum()]])
        return together

    def leads(self, z: Floats) -> Floats:
        """Return how far each row is ahead by these skills, and the seat: [m]."""
        return self._likelihood.leads(z)

    def variances(self, covariance: Floats) -> Floats:
        """Return the variance of each lead: [m]."""
        i, j, seat = self._likelihood.i, self._likelihood.j, self._likelihood.seat
        diagonal = np.diag(covariance)
        variances: Floats = diagonal[i] + diagonal[j] - 2 * covariance[i, j]
        if seat is not None:
            variances += diagonal[-1] + 2 * seat * (covariance[i, -1] - covariance[j, -1])
        return variances

    def log_likelihood(self, lead: Floats) -> Floats:
        """Return what each row says of leads [m, k]."""
        n, margin = self._likelihood.n_decided, self._likelihood.margin
        log_terms = [log_ndtr(lead[:n] - margin)]
        if n < len(lead):
            log_terms.append(draw_terms(lead[n:], margin).value)
        weighted: Floats = self._likelihood.times[:, None] * np.concatenate(log_terms)
        return weighted


def propagate(objective: Objective, posterior: Posterior) -> tuple[Floats, Floats]:
    """Return the mean [n] and the covariance [n, n] of the skills under the spread of the mode.

    posterior: the mode of results of pairs.
    """
    likelihood = objective.likelihood
    if not isinstance(likelihood, PairLikelihood):
        raise TypeError("only results of pairs have leads of two agents")
    rows = _Rows(objective, likelihood, posterior.spread)
    seat = [] if posterior.seat is None else [posterior.seat]
    factors = rows.start(np.append(posterior.z, seat))
    for _ in range(_N_SWEEPS):
        factors = _match_moments(rows, factors)
    mean, covariance = rows.combine(factors)
    n = objective.n_agents
    return mean[:n], covariance[:n, :n]


def _match_moments(rows: _Rows, factors: _Factors) -> _Factors:
    mean, covariance = rows.combine(factors)
    lead = rows.leads(mean)
    variance = rows.variances(covariance)
    # What all other rows say of the lead.
    others = 1 / variance - factors.precision
    is_sound = others > _LEAST
    others = np.where(is_sound, others, 1.0)
    pull = lead / variance - factors.pull
    nodes = lead[:, None] + np.sqrt(2 * _WIDER * variance)[:, None] * _NODES
    apart = nodes - (pull / others)[:, None]
    # The nodes are those of a normal density, which is taken out again.
    density = rows.log_likelihood(nodes) - others[:, None] * apart**2 / 2 + _NODES**2
    shares = _WEIGHTS * np.exp(density - density.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    matched = (shares * nodes).sum(axis=1)
    spread = np.maximum((shares * (nodes - matched[:, None]) ** 2).sum(axis=1), _LEAST)
    precision = np.maximum(1 / spread - others, _LEAST)
    moved = _STEP * is_sound
    return _Factors(
        factors.precision + moved * (precision - factors.precision),
        factors.pull + moved * (matched / spread - pull - factors.pull),
    )
