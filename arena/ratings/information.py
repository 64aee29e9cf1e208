"""The curvature of a posterior, and what follows from it: Newton's step and the doubt that is left.

Each pair i, j with its curvature pulls two agents together, the prior's precision each agent to the
mean; together they are a symmetric positive definite matrix, dense up to DENSE_LIMIT agents.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import coo_array, diags_array
from scipy.sparse.linalg import cg

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats, Ints, summed_by

DENSE_LIMIT = 2_000
"""A factor costs the cube of the agents in time, the covariance their square in memory: 0.2 s and
32 MB here, but 25 s and 800 MB at 10,000."""
_N_SAMPLES = 32
"""Samples of the posterior of a larger field, whose sd are good to a percent or two."""
_SOLVED = 1e-9
"""The residual of a sparse solution, relative to the right side."""


@dataclass(frozen=True)
class Doubt:
    """The variance [n] about the mean of the field, and the covariance [n, n] or None."""

    variances: Floats
    covariance: Floats | None


class Information(Protocol):
    """Minus the second derivatives of a logarithm of a posterior."""

    def solved(self, right_side: Floats) -> Floats:
        """Return x [n] such that matrix @ x = right_side."""
        ...

    def doubt(self) -> Doubt:
        """Return what the inverse says."""
        ...


def information(i: Ints, j: Ints, curvature: Floats, n: int, precision: float) -> Information:
    """Return the matrix of pairs i [m], j [m] with curvature [m] and the prior of n agents."""
    made = DenseInformation if n <= DENSE_LIMIT else SparseInformation
    return made(i, j, curvature, n, precision)


class DenseInformation:
    """Exact, by Cholesky's factors."""

    def __init__(self, i: Ints, j: Ints, curvature: Floats, n: int, precision: float) -> None:
        """Raise RatingError unless the matrix is positive definite."""
        one_way = summed_by(i * n + j, curvature, n * n).reshape(n, n)
        both_ways = one_way + one_way.T
        matrix = np.diag(both_ways.sum(axis=1) + precision) - both_ways
        self._factor, status = lapack.dpotrf(matrix, lower=1)
        if status:
            raise RatingError(f"the information matrix is not positive definite (row {status})")

    def solved(self, right_side: Floats) -> Floats:
        """Return x [n] such that matrix @ x = right_side."""
        solution: Floats
        solution, _ = lapack.dpotrs(self._factor, right_side, lower=1)
        return solution

    def doubt(self) -> Doubt:
        """Return the exact inverse."""
        inverse, _ = lapack.dpotri(self._factor, lower=1)
        lower: Floats = np.tril(inverse)
        covariance = lower + np.tril(lower, -1).T
        variances = np.diag(covariance) - 2 * covariance.mean(axis=1) + covariance.mean()
        return Doubt(variances, covariance)


class SparseInformation:
    """For large fields: conjugate gradients, and variances from seeded samples."""

    def __init__(
        self,
        i: Ints,
        j: Ints,
        curvature: Floats,
        n: int,
        precision: float,
        *,
        tolerance: float = _SOLVED,
    ) -> None:
        """Keep the pairs: m numbers, not n^2. tolerance: the residual of a solution, relative."""
        self._tolerance = tolerance
        self._i, self._j, self._root, self._precision = i, j, np.sqrt(curvature), precision
        rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
        self._diagonal = summed_by(rows, np.tile(curvature, 2), n) + precision
        pairs = coo_array((-np.tile(curvature, 2), (rows, columns)), shape=(n, n))
        self._pairs = pairs.tocsr()
        self._matrix = self._pairs + diags_array(self._diagonal).tocsr()
        self._preconditioner = diags_array(1 / self._diagonal)

    def solved(self, right_side: Floats) -> Floats:
        """Return x [n] such that matrix @ x = right_side, nearly. Raises RatingError."""
        x: Floats
        x, failed = cg(
            self._matrix, right_side, rtol=self._tolerance, atol=0.0, M=self._preconditioner
        )
        if failed:
            raise RatingError(
                f"the step of {len(right_side)} agents was not found in {failed} turns"
            )
        return x

    def doubt(self) -> Doubt:
        """Return the variances from samples of the posterior.

        Given the others, an agent's variance is the inverse of its diagonal; only how far the
        others move it is left to the samples.
        """
        rng = np.random.default_rng(0)
        moved = np.zeros_like(self._diagonal)
        for _ in range(_N_SAMPLES):
            sample = self.sample(rng)
            moved += (self._pairs @ (sample - sample.mean())) ** 2
        return Doubt(1 / self._diagonal + moved / _N_SAMPLES / self._diagonal**2, None)

    def sample(self, rng: np.random.Generator) -> Floats:
        """Return one sample of N(0, inverse)."""
        by_pair = self._root * rng.standard_normal(len(self._root))
        n = len(self._diagonal)
        noise = np.sqrt(self._precision) * rng.standard_normal(n)
        return self.solved(noise + summed_by(self._i, by_pair, n) - summed_by(self._j, by_pair, n))
