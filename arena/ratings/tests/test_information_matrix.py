"""The information matrix: dense and sparse say the same, exactly and nearly."""

from typing import Any

import numpy as np
import pytest

from arena.ratings import information_matrix as module
from arena.ratings.base import RatingError
from arena.ratings.counts import Floats
from arena.ratings.information_matrix import (
    BorderedInformation,
    DenseInformation,
    InformationMatrix,
    SparseInformation,
    SparsityPattern,
)

RNG = np.random.default_rng(5)
N, M = 80, 600
FIRST = RNG.integers(0, N, M)
SECOND = (FIRST + RNG.integers(1, N, M)) % N
CURVATURE = RNG.uniform(0.1, 5, M)
RIGHT_SIDE = RNG.normal(size=N)


def both() -> tuple[DenseInformation, SparseInformation]:
    sparse = SparseInformation(SparsityPattern(FIRST, SECOND, N), CURVATURE, 0.3, is_rough=False)
    return DenseInformation(FIRST, SECOND, CURVATURE, N, 0.3), sparse


def test_the_dense_one_is_the_inverse_of_the_matrix() -> None:
    matrix: Floats = 0.3 * np.eye(N)
    for i, j, curvature in zip(FIRST, SECOND, CURVATURE, strict=True):
        matrix[np.ix_([i, j], [i, j])] += curvature * np.array([[1, -1], [-1, 1]])
    made = DenseInformation(FIRST, SECOND, CURVATURE, N, 0.3)
    centred = np.eye(N) - 1 / N
    assert made.estimate_uncertainty().covariance == pytest.approx(np.linalg.inv(matrix))
    assert made.estimate_uncertainty().variances == pytest.approx(
        np.diag(centred @ np.linalg.inv(matrix) @ centred)
    )
    assert matrix @ made.solve(RIGHT_SIDE) == pytest.approx(RIGHT_SIDE)


def test_the_sparse_one_solves_as_the_dense_one_does() -> None:
    dense, sparse = both()
    assert sparse.solve(RIGHT_SIDE) == pytest.approx(dense.solve(RIGHT_SIDE), abs=1e-7)


def test_the_variances_of_the_sparse_one_are_nearly_right() -> None:
    dense, sparse = both()
    ratio = sparse.estimate_uncertainty().variances / dense.estimate_uncertainty().variances
    assert ratio.mean() == pytest.approx(1, abs=0.05)
    assert ratio == pytest.approx(np.ones(N), abs=0.15)
    assert sparse.estimate_uncertainty().covariance is None


def test_a_step_that_is_not_found_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(matrix: Any, right_side: Any, **_: Any) -> tuple[Any, int]:
        return right_side, 10

    monkeypatch.setattr(module, "cg", give_up)
    with pytest.raises(RatingError, match="not found in 10 turns"):
        both()[1].solve(np.ones(N))


def test_one_row_more_is_solved_by_its_border() -> None:
    dense, _ = both()
    cross, own = RNG.normal(size=N), 900.0
    bordered = np.linalg.inv(joint(dense))
    bordered = np.block([[bordered, cross[:, None]], [cross[None], np.array([[own]])]])
    right_side = RNG.normal(size=N + 1)
    made, inverse = BorderedInformation(dense, cross, own), np.linalg.inv(bordered)
    assert made.solve(right_side) == pytest.approx(inverse @ right_side, abs=1e-8)
    assert joint(made) == pytest.approx(inverse[:N, :N], abs=1e-8)
    assert made.estimate_uncertainty().seat == pytest.approx(inverse[N, N])


def joint(made: InformationMatrix) -> Floats:
    covariance = made.estimate_uncertainty().covariance
    assert covariance is not None
    return covariance
