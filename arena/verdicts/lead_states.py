"""What is believed of skills and leads of pairs in many cases at once, and what a result adds.

The lead of a pair is a share of the difference of its agents' skills and something of its own (see
arena.ratings.pair_leads); or it departs from the ratings altogether (arena.ratings.departures). A
result is normal about it, so that beliefs stay of this kind: Bayes' rule of normal means, exactly,
but that skills learn from a pair as if it did not depart.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr

from arena.ratings.counts import Floats
from arena.ratings.departures import Departures
from arena.ratings.pair_leads import PairLeads
from arena.verdicts.beliefs import Belief

_LEAST = 1e-12


class LeadStates(NamedTuple):
    """What is believed in each of t cases.

    precision: float64 [t, n, n], and pull, float64 [t, n], its product with the mean: of the
    skills. share, own, variance: float64 [t, n, n], as of PairLeads. before: float64 [t], that
    variance before any result. chance, apart, apart_variance: [t, n, n], as of Departures.
    """

    precision: Floats
    pull: Floats
    share: Floats
    own: Floats
    variance: Floats
    before: Floats
    chance: Floats
    apart: Floats
    apart_variance: Floats

    @classmethod
    def repeat(cls, belief: Belief, n_cases: int) -> "LeadStates":
        """Return the same belief in so many cases."""
        joint, leads, apart = (
            _get_covariance(belief),
            _get_leads(belief),
            _get_departures(belief),
        )
        precision = np.linalg.inv(joint)
        parts = (
            precision,
            precision @ belief.mu,
            # Of an agent and itself there are no results: what is thought of any pair before.
            *(leads.share, leads.own, leads.variance, leads.variance[0, 0]),
            *(apart.chance, apart.mean, apart.variance),
        )
        return cls(*(np.repeat(np.asarray(part)[None], n_cases, axis=0) for part in parts))

    def find_skills(self) -> tuple[Floats, Floats]:
        """Return mean [t, n] and covariance [t, n, n] of the skills."""
        covariance = np.asarray(np.linalg.inv(self.precision), np.float64)
        return (covariance @ self.pull[:, :, None])[:, :, 0], covariance

    def find_leads(self) -> tuple[Floats, Floats]:
        """Return the expected leads of the rows' agents, and their variances: [t, n, n] each."""
        mu, covariance = self.find_skills()
        alone = np.diagonal(covariance, axis1=1, axis2=2)
        of_gap = alone[:, :, None] + alone[:, None, :] - 2 * covariance
        mean = self.share * (mu[:, :, None] - mu[:, None, :]) + self.own
        return mean, np.maximum(self.share**2 * of_gap + self.variance, _LEAST)

    def doubt_upsets(self) -> Floats:
        """Return how probably the row's agent is behind just this other that it seems to beat."""
        lead, variance = self.find_leads()
        lost = ndtr(lead / np.sqrt(variance)) - ndtr(self.apart / np.sqrt(self.apart_variance))
        doubts: Floats = self.chance * np.maximum(lost, 0)
        return doubts

    def learn(self, information: Floats, evidence: Floats) -> "LeadStates":
        """Return what is believed after results of pairs, told above the diagonals: [t, n, n].

        information: inverse of the variance of their mean. evidence: their mean times that.
        """
        # Of what a pair has of its own the skills learn nothing.
        discount = 1 / (1 + information * self.variance)
        weight = self.share * discount
        pull = weight * (evidence - information * self.own)
        discounts = _mirror(discount)
        apart_discounts = _mirror(1 / (1 + information * self.apart_variance))
        return LeadStates(
            self.precision + make_laplacian(self.share * weight * information),
            self.pull + sum_pulls(pull),
            self.share * discounts,
            (self.own + self.variance * _turn(evidence)) * discounts,
            self.variance * discounts,
            self.before,
            self._weigh_departures(information, evidence),
            (self.apart + self.apart_variance * _turn(evidence)) * apart_discounts,
            self.apart_variance * apart_discounts,
        )

    def _weigh_departures(self, information: Floats, evidence: Floats) -> Floats:
        """Return how probably each pair departs, by how well either story explains its results."""
        if not self.chance.any():
            return self.chance
        by_ratings = _explain(information, evidence, *self.find_leads())
        by_itself = _explain(information, evidence, self.apart, self.apart_variance)
        return _mirror(expit(logit(self.chance) + by_itself - by_ratings))


def _get_covariance(belief: Belief) -> Floats:
    """Return the covariance of the skills, [n, n]."""
    return np.diag(belief.sd**2) if belief.covariance is None else belief.covariance


def _get_leads(belief: Belief) -> PairLeads:
    """Return the leads of pairs: differences of skills, if nothing else is believed."""
    n = belief.n_agents
    return belief.leads or PairLeads(np.ones((n, n)), np.zeros((n, n)), np.zeros((n, n)))


def _get_departures(belief: Belief) -> Departures:
    """Return the pairs that may depart from the ratings: none, if nothing else is believed."""
    n = belief.n_agents
    return belief.departures or Departures(np.zeros((n, n)), np.zeros((n, n)), np.ones((n, n)))


def _explain(information: Floats, evidence: Floats, mean: Floats, variance: Floats) -> Floats:
    """Return the log-likelihood of results by a normal lead, but for what all leads share."""
    spread = 1 + information * variance
    squares = (evidence - information * mean) ** 2 / np.maximum(information, _LEAST) / spread
    explained: Floats = -(np.log(spread) + squares) / 2
    return explained


def make_laplacian(information: Floats) -> Floats:
    """Return what information on differences adds to the precision of the skills: [..., n, n]."""
    both = information + information.swapaxes(-1, -2)
    diagonal = np.arange(both.shape[-1])
    added = -both
    added[..., diagonal, diagonal] += both.sum(axis=-1)
    return added


def sum_pulls(evidence: Floats) -> Floats:
    """Return what evidence on differences [..., n, n] adds to the pull of the skills: [..., n]."""
    added: Floats = evidence.sum(axis=-1) - evidence.sum(axis=-2)
    return added


def _mirror(upper: Floats) -> Floats:
    """Return the symmetric tables of those above the diagonals: [t, n, n]."""
    both: Floats = np.triu(upper) + np.triu(upper, 1).transpose(0, 2, 1)
    return both


def _turn(upper: Floats) -> Floats:
    """Return the antisymmetric tables of those above the diagonals: [t, n, n]."""
    both: Floats = upper - upper.transpose(0, 2, 1)
    return both
