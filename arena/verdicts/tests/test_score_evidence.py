"""Tests of evidence about score differences."""

from math import inf, log, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.ratings.counts import Floats
from arena.verdicts.base import VerdictError
from arena.verdicts.score_evidence import (
    bound_mean,
    enclose_mean,
    is_above,
    score_width,
    watch_evidence,
    weigh_differences,
)

DIFFERENCES = st.lists(st.floats(-2, 2), min_size=1, max_size=30).map(np.array)


def test_it_keeps_to_its_error_when_looked_at_after_every_seed() -> None:
    rng = np.random.default_rng(1)
    fair = rng.choice([-1.0, 1.0], (1_000, 300))
    skewed = np.where(rng.random((1_000, 300)) < 0.1, 0.9, -0.1)
    for differences in (fair, skewed):
        wrong = (watch_evidence(differences, 1.0).max(axis=1) >= -log(0.05)).mean()
        # 0.05 and three standard deviations of 1,000 tries.
        assert wrong <= 0.07


def test_it_finds_a_gap_and_not_its_opposite() -> None:
    differences = np.random.default_rng(2).normal(0.2, 0.1, (4, 200)).clip(-1, 1)
    assert is_above(differences, 1.0, 0.1, 0.01).all()
    assert not is_above(-differences, 1.0, 0.0, 0.01).any()


@settings(max_examples=25, deadline=None)
@given(DIFFERENCES)
def test_the_order_of_seeds_makes_no_difference(differences: Floats) -> None:
    turned = differences[::-1].copy()
    assert weigh_differences(turned, 2.0) == pytest.approx(weigh_differences(differences, 2.0))


@settings(max_examples=25, deadline=None)
@given(DIFFERENCES)
def test_bounds_enclose_the_mean_and_say_what_the_test_says(differences: Floats) -> None:
    low, high = enclose_mean(differences, 2.0, 0.1)
    assert -2 <= low <= differences.mean() <= high <= 2
    lowest = bound_mean(differences, 2.0, 0.05)
    assert low == lowest
    assert not is_above(differences, 2.0, float(lowest) + 1e-6, 0.05)
    assert lowest == -2 or is_above(differences, 2.0, float(lowest) - 1e-6, 0.05)


def test_seeds_after_a_gap_do_not_count() -> None:
    whole = np.array([0.5, 0.25, 1.0])
    with_gap = np.array([0.5, 0.25, nan, 1.0])
    assert weigh_differences(with_gap, 1.0) == weigh_differences(whole[:2], 1.0)
    assert weigh_differences(np.array([nan]), 1.0) == pytest.approx(0)
    assert weigh_differences(np.empty((3, 0)), 1.0) == pytest.approx(np.zeros(3))


def test_a_limit_below_all_differences_is_refuted_at_once() -> None:
    assert weigh_differences(np.empty(0), 1.0, -1.0) == inf
    assert weigh_differences(np.ones(50), 1.0, 1.5) < 0


@pytest.mark.parametrize("given_range", [(1, 1), (2, 1), (0, inf), (nan, 1)])
def test_it_refuses_a_range_without_width(given_range: tuple[float, float]) -> None:
    with pytest.raises(VerdictError, match="score range"):
        score_width(given_range)
    assert score_width((-500, 0)) == 500


def test_it_refuses_differences_out_of_range_and_errors_that_are_none() -> None:
    with pytest.raises(VerdictError, match=r"must be in -1\.\.1"):
        watch_evidence(np.array([1.5]), 1.0)
    with pytest.raises(VerdictError, match="error"):
        is_above(np.zeros(1), 1.0, 0.0, 0.0)
    with pytest.raises(VerdictError, match="error"):
        bound_mean(np.zeros(1), 1.0, 0.7)
