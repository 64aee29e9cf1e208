"""How likely results make it that the leads of pairs depart from one ranking by so much.

The lead of a pair is the difference of two ratings plus N(0, t^2) of its own, and what the pair did
tells it with some noise; ratings are normal, too. So all that pairs did is jointly normal for each
t, and its density says how likely that t is: the marginal likelihood of a mixed linear model
(Harville 1977). Whoever has met often cannot hide behind ratings that were fitted to just that.
"""

from typing import NamedTuple

import numpy as np

from arena.ratings.counts import Floats, Ints


class PairEvidence(NamedTuple):
    """What each pair did itself, of pairs p that met.

    low, high: int64 [p], its agents. lead: float64 [p], of the first over the second, by their own
    results alone. noise: float64 [p], the variance of that by chance. n_agents: n. spread: of the
    ratings. Leads and spread in units of rating.
    """

    low: Ints
    high: Ints
    lead: Floats
    noise: Floats
    n_agents: int
    spread: float

    def weigh_departures(self, departures: Floats) -> Floats:
        """Return the log-likelihood of departures t float64 [s], but for a constant: [s].

        By the n x n matrix of the ratings instead of that of all pairs (Woodbury).
        """
        weight = 1 / (self.noise + departures[:, None] ** 2)
        precision = self._sum_weights(weight) + np.eye(self.n_agents) / self.spread**2
        pull = (weight * self.lead) @ self._sign_agents()
        skills = np.linalg.solve(precision, pull[:, :, None])[:, :, 0]
        squares = weight @ self.lead**2 - (pull * skills).sum(axis=1)
        log_volume = np.linalg.slogdet(precision)[1] - np.log(weight).sum(axis=1)
        likelihood: Floats = -(squares + log_volume) / 2
        return likelihood

    def _sum_weights(self, weight: Floats) -> Floats:
        """Return what pairs of these weights [s, p] tell of ratings: the Laplacian, [s, n, n]."""
        between = np.zeros((self.n_agents, self.n_agents, len(weight)))
        np.add.at(between, (self.low, self.high), weight.T)
        both = (between + between.swapaxes(0, 1)).transpose(2, 0, 1)
        laplacian: Floats = np.eye(self.n_agents) * both.sum(axis=2)[:, None] - both
        return laplacian

    def _sign_agents(self) -> Floats:
        """Return 1 for the first agent of each pair, -1 for the second: [p, n]."""
        signs, pairs = np.zeros((len(self.low), self.n_agents)), np.arange(len(self.low))
        signs[pairs, self.low], signs[pairs, self.high] = 1, -1
        return signs
