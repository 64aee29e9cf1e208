"""Samples of the posterior of a field: one possible truth each, for fields of any size."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np
from scipy.linalg import lapack

from arena.ratings.base import BETA, MU, RatingError
from arena.ratings.counts import Floats, PairCounts
from arena.ratings.information_matrix import (
    DesignRows,
    SparseInformation,
    SparseRows,
    SparsityPattern,
)
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.rankings import WeighedCounts, weigh_rankings
from arena.ratings.teamcounts import TeamCounts
from arena.ratings.teamlikelihood import TeamLikelihood

_UNIT = sqrt(2) * BETA
_JITTER = 1e-10


# Returns so many samples of N(0, inverse information): [n_samples, n].
_Noise = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class Sampler:
    """Draws skills [n] of the posterior N(mu, inverse information)."""

    mu: Floats
    _noise: _Noise

    @classmethod
    def of_field(
        cls,
        counts: PairCounts | TeamCounts,
        mu: Floats,
        covariance: Floats | None,
        spread: float,
        *,
        draw_probability: float,
        n_sides: int = 2,
        weight: float = 1.0,
    ) -> Self:
        """Return the sampler of a settled field; by its counts where no covariance is given.

        n_sides, weight: as in settle_ratings. Raises RatingError.
        """
        if covariance is not None:
            return cls(mu, _make_dense_noise(covariance))
        weighed = weigh_rankings(counts, n_sides, draw_probability)
        return cls(mu, _make_sparse_noise(weighed, mu, spread, weight))

    def draw(self, rng: np.random.Generator, n_samples: int) -> Floats:
        """Return samples of all skills together: float64 [n_samples, n]."""
        samples: Floats = self.mu + self._noise(rng, n_samples)
        return samples


def best_shares(samples: Floats) -> Floats:
    """Return P(best) of each agent: its share of the samples [k, n] in which it is highest."""
    highest = np.bincount(samples.argmax(axis=1), minlength=samples.shape[1])
    share: Floats = highest / len(samples)
    return share


def superiority_shares(samples: Floats) -> Floats:
    """Return P(row is above column) as shares of the samples [k, n]: [n, n], half on the diagonal.

    For a few hundred agents: pass their columns only.
    """
    n = samples.shape[1]
    above = np.full((n, n), 0.5)
    for agent in range(n):
        column = samples[:, agent : agent + 1]
        above[agent] = ((column > samples) + 0.5 * (column == samples)).mean(axis=0)
    return above


def _make_dense_noise(covariance: Floats) -> _Noise:
    # The covariance of equal agents may be singular by rounding.
    jitter = _JITTER * float(np.diag(covariance).max(initial=0))
    # LAPACK and not numpy: its status says which row failed, instead of an exception.
    factor, status = lapack.dpotrf(covariance + jitter * np.eye(len(covariance)), lower=1)
    if status:
        raise RatingError(f"the covariance is not positive definite (row {status})")
    lower: Floats = np.tril(factor)
    return lambda rng, n_samples: rng.standard_normal((n_samples, len(lower))) @ lower.T


def _make_sparse_noise(
    weighed: WeighedCounts[PairCounts | TeamCounts], mu: Floats, spread: float, weight: float
) -> _Noise:
    played, n = weighed.counts.agents, len(mu)
    if played.size == 0:
        return lambda rng, n_samples: spread * rng.standard_normal((n_samples, n))
    # Only those with results need the matrix: the others are independent, by the prior.
    within, z = weighed.counts.reindex(played), (mu[played] - MU) / _UNIT
    precision, weight = (_UNIT / spread) ** 2, weighed.weight * weight
    if isinstance(within, TeamCounts):
        sides = TeamLikelihood(within, len(z), margin=weighed.margin, weight=weight)
        rows, curvature = DesignRows(sides.design), sides.at(z).curvature
        information: SparseInformation = SparseRows(rows, curvature, precision, is_rough=True)
    else:
        pairs = PairLikelihood(within, len(z), margin=weighed.margin, weight=weight)
        pattern, curvature = SparsityPattern(pairs.i, pairs.j, len(z)), pairs.at(z).curvature
        information = SparseInformation(pattern, curvature, precision, is_rough=True)

    def noise(rng: np.random.Generator, n_samples: int) -> Floats:
        skills: Floats = spread * rng.standard_normal((n_samples, n))
        skills[:, played] = _UNIT * information.draw_samples(rng, n_samples).T
        return skills

    return noise
