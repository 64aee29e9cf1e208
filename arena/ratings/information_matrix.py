"""The curvature of a posterior, and what follows from it: Newton's step and the doubt that is left.

Each pair i, j with its curvature pulls two agents together, the prior's precision each agent to the
mean; together they are a symmetric positive definite matrix, dense up to DENSE_LIMIT agents.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from arena.ratings.base import RatingError
from arena.ratings.counts import Floats, Ints, sum_by_key

# A factor costs the cube of the agents in time, the covariance their square in memory: 0.2 s and 32
# MB here, but 25 s and 800 MB at 10,000.
DENSE_LIMIT = 2_000
# Samples of the posterior of a larger field, whose sd are good to a percent or two.
_N_SAMPLES = 32
# The residual of a sparse solution, relative to the right side.
_SOLVED = 1e-9
# The residual and the number of samples that are enough on the way to the mode.
_CLOSE, _FEW = 1e-3, 4
_MAX_TURNS = 10_000
# Samples solved together: one pass over the pairs serves them all, and they stay in the cache.
_TOGETHER = 32


@dataclass(frozen=True)
class Uncertainty:
    """The variance [n] about the mean of the field, and the covariance [n, n] or None.

    seat: the variance of the advantage of the first seat, where it is fitted.
    """

    variances: Floats
    covariance: Floats | None
    seat: float | None = None


def variances_about_mean(covariance: Floats) -> Floats:
    """Return the variance [n] about the mean of the field, which the prior alone fixes."""
    about_mean: Floats = np.diag(covariance) - 2 * covariance.mean(axis=1) + covariance.mean()
    return about_mean


class InformationMatrix(Protocol):
    """Minus the second derivatives of the logarithm of a posterior, a matrix [n, n]."""

    def solve(self, right_side: Floats) -> Floats:
        """Return x [n] such that matrix @ x = right_side."""
        ...

    def estimate_uncertainty(self) -> Uncertainty:
        """Return the variances, and where it is dense the covariance, which are the inverse."""
        ...


class DenseInformation:
    """Exact, by Cholesky's factors."""

    def __init__(
        self, i: Ints, j: Ints, curvature: Floats, n: int, precision: Floats | float
    ) -> None:
        """Raise RatingError unless the matrix is positive definite."""
        one_way = sum_by_key(i * n + j, curvature, n * n).reshape(n, n)
        both_ways = one_way + one_way.T
        self._factorise(np.diag(both_ways.sum(axis=1) + precision) - both_ways)

    def _factorise(self, matrix: Floats) -> None:
        self._factor, status = lapack.dpotrf(matrix, lower=1)
        if status:
            raise RatingError(f"the information matrix is not positive definite (row {status})")

    def solve(self, right_side: Floats) -> Floats:
        """Return x [n] such that matrix @ x = right_side."""
        solution: Floats
        solution, _ = lapack.dpotrs(self._factor, right_side, lower=1)
        return solution

    def estimate_uncertainty(self) -> Uncertainty:
        """Return the exact covariance, and the variances about the mean of the field."""
        inverse, _ = lapack.dpotri(self._factor, lower=1)
        # LAPACK fills one triangle and leaves what it likes in the other.
        lower: Floats = np.tril(inverse)
        covariance = lower + np.tril(lower, -1).T
        return Uncertainty(variances_about_mean(covariance), covariance)


class DesignRows:
    """Rows that involve several agents each, such as teams: laid out once for all curvatures.

    design: [m, n], how far each row is ahead by the skills.
    """

    def __init__(self, design: csr_array[np.float64]) -> None:
        """Keep both ways through the rows."""
        self.by_row, self.by_agent = design, csr_array(design.T)
        self._widths = np.diff(design.indptr)

    def build_matrix(self, curvature: Floats) -> csr_array[np.float64]:
        """Return what rows of these curvatures add to the matrix: [n, n]."""
        rows = self.by_row
        weighted = rows.data * np.repeat(curvature, self._widths)
        scaled = csr_array((weighted, rows.indices, rows.indptr), shape=rows.shape)
        return csr_array(self.by_agent @ scaled)


class DenseRows(DenseInformation):
    """The exact matrix of rows that pull at several agents each."""

    def __init__(self, rows: DesignRows, curvature: Floats, precision: Floats | float) -> None:
        """Raise RatingError unless the matrix is positive definite."""
        matrix: Floats = rows.build_matrix(curvature).toarray()
        self._factorise(matrix + np.diag(np.broadcast_to(precision, len(matrix))))


class SparsityPattern:
    """Which agents met, as the form of a sparse matrix: made once for all curvatures."""

    def __init__(self, i: Ints, j: Ints, n: int) -> None:
        """Lay out both halves of the symmetric matrix by rows; number the unordered pairs."""
        keys = np.minimum(i, j) * n + np.maximum(i, j)
        pairs, self._pair_of = np.unique(keys, return_inverse=True)
        self.n, self.n_pairs = n, len(pairs)
        self.low, self.high = np.divmod(pairs, n)
        rows = np.concatenate([self.low, self.high])
        columns = np.concatenate([self.high, self.low])
        # Newton's steps change the curvatures only, so sorting once serves all of them.
        self._layout = np.lexsort((columns, rows))
        self._columns = columns[self._layout].astype(np.int32)
        ends = np.cumsum(np.bincount(rows, minlength=n))
        self._starts = np.concatenate([[0], ends]).astype(np.int32)

    def merge_pairs(self, curvature: Floats) -> Floats:
        """Return the curvature of each unordered pair, summed over the given rows."""
        return sum_by_key(self._pair_of, curvature, self.n_pairs)

    def build_matrix(self, merged: Floats) -> csr_array[np.float64]:
        """Return minus the curvature of both halves, nothing on the diagonal."""
        values = -np.concatenate([merged, merged])[self._layout]
        return csr_array((values, self._columns, self._starts), shape=(self.n, self.n))


class SparseInformation:
    """For large fields: conjugate gradients, and variances from seeded samples."""

    def __init__(
        self,
        pattern: SparsityPattern,
        curvature: Floats,
        precision: Floats | float,
        *,
        is_rough: bool,
    ) -> None:
        """Keep the pairs: m numbers, not n^2.

        is_rough: solve to a thousandth and sample little, which is enough on the way.
        """
        merged, self._pattern = pattern.merge_pairs(curvature), pattern
        self._root = np.sqrt(merged)
        self._precision = np.broadcast_to(precision, pattern.n)
        diagonal = sum_by_key(pattern.low, merged, pattern.n)
        self._diagonal = diagonal + sum_by_key(pattern.high, merged, pattern.n) + self._precision
        self._pairs = pattern.build_matrix(merged)
        self._tolerance, self._n_samples = (_CLOSE, _FEW) if is_rough else (_SOLVED, _N_SAMPLES)

    def solve(self, right_side: Floats) -> Floats:
        """Return x [n] such that matrix @ x = right_side, nearly. Raises RatingError."""
        x: Floats
        # Preconditioned by the diagonal: agents differ much in how many results they have.
        scale = diags_array(1 / self._diagonal)
        matrix = self._pairs + diags_array(self._diagonal).tocsr()
        x, failed = cg(matrix, right_side, rtol=self._tolerance, atol=0.0, M=scale)
        if failed:
            raise _say_unsolved(len(right_side), failed)
        return x

    def estimate_uncertainty(self) -> Uncertainty:
        """Return the variances from samples of the posterior.

        Given the others, an agent's variance is the inverse of its diagonal; only how far the
        others move it is left to the samples.
        """
        samples = self.draw_samples(np.random.default_rng(0), self._n_samples)
        moved = self._pairs @ (samples - samples.mean(axis=0))
        squares = (moved**2).mean(axis=1)
        return Uncertainty(1 / self._diagonal + squares / self._diagonal**2, None)

    def draw_samples(self, rng: np.random.Generator, n_samples: int) -> Floats:
        """Return samples of N(0, inverse): float64 [n, n_samples]."""
        groups = [min(_TOGETHER, n_samples - at) for at in range(0, n_samples, _TOGETHER)]
        noises = (np.stack([self._draw_noise(rng) for _ in range(n)], axis=1) for n in groups)
        # The inverse applied to N(0, matrix) is N(0, inverse). Few samples need no closer solution.
        return np.concatenate([self._solve_together(noise, _CLOSE) for noise in noises], axis=1)

    def _draw_noise(self, rng: np.random.Generator) -> Floats:
        """Return one sample of N(0, matrix)."""
        by_pair, n = self._root * rng.standard_normal(len(self._root)), self._pattern.n
        own_noise: Floats = np.sqrt(self._precision) * rng.standard_normal(n)
        return (
            own_noise
            + sum_by_key(self._pattern.low, by_pair, n)
            - sum_by_key(self._pattern.high, by_pair, n)
        )

    def _solve_together(self, right_sides: Floats, tolerance: float) -> Floats:
        """Solve for several right sides at once: one pass over the matrix serves all of them."""
        diagonal = self._diagonal[:, None]
        x, left = np.zeros_like(right_sides), right_sides.copy()
        goal = tolerance * np.linalg.norm(right_sides, axis=0)
        toward = left / diagonal
        size = (left * toward).sum(axis=0)
        for _ in range(_MAX_TURNS):
            image = self._pairs @ toward + diagonal * toward
            step = size / (toward * image).sum(axis=0)
            x += step * toward
            left -= step * image
            if (np.linalg.norm(left, axis=0) <= goal).all():
                return x
            scaled = left / diagonal
            size, last = (left * scaled).sum(axis=0), size
            toward = scaled + size / last * toward
        raise _say_unsolved(len(right_sides), _MAX_TURNS)


class SparseRows(SparseInformation):
    """The sparse matrix of rows that pull at several agents each."""

    def __init__(
        self, rows: DesignRows, curvature: Floats, precision: Floats | float, *, is_rough: bool
    ) -> None:
        """Keep the rows; arguments as of SparseInformation."""
        self._rows, self._root = rows, np.sqrt(curvature)
        gram = rows.build_matrix(curvature)
        self._precision = np.broadcast_to(precision, gram.shape[0])
        self._diagonal = gram.diagonal() + self._precision
        self._pairs = csr_array(gram - diags_array(gram.diagonal()))
        self._tolerance, self._n_samples = (_CLOSE, _FEW) if is_rough else (_SOLVED, _N_SAMPLES)

    def _draw_noise(self, rng: np.random.Generator) -> Floats:
        by_row = self._root * rng.standard_normal(len(self._root))
        own_noise: Floats = np.sqrt(self._precision) * rng.standard_normal(len(self._diagonal))
        noise: Floats = own_noise + self._rows.by_agent @ by_row
        return noise


class BorderedInformation:
    """The matrix with one row more, for the advantage of the first seat: solved by its border.

    cross: float64 [n], the second derivatives by each agent and the seat; own: by the seat twice.
    """

    def __init__(self, agents: InformationMatrix, cross: Floats, own: float) -> None:
        """Solve once for how far the advantage moves each agent, for all later solutions."""
        self._agents, self._cross = agents, cross
        self._pull = agents.solve(cross)
        self._own = own - float(cross @ self._pull)

    def solve(self, right_side: Floats) -> Floats:
        """Return x [n + 1] such that matrix @ x = right_side."""
        x = self._agents.solve(right_side[:-1])
        seat = (right_side[-1] - self._cross @ x) / self._own
        return np.append(x - self._pull * seat, seat)

    def estimate_uncertainty(self) -> Uncertainty:
        """Return the uncertainty of the agents, widened by that of the seat advantage."""
        agents = self._agents.estimate_uncertainty()
        joint = agents.covariance
        if joint is not None:
            joint = joint + np.outer(self._pull, self._pull) / self._own
        about_mean = self._pull - self._pull.mean()
        return Uncertainty(agents.variances + about_mean**2 / self._own, joint, 1 / self._own)


def _say_unsolved(n: int, n_turns: int) -> RatingError:
    return RatingError(f"the step of {n} agents was not found in {n_turns} turns")
