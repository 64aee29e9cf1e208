"""The sequential test of two agents."""

from collections.abc import Callable
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from arena.ratings.counts import Floats
from arena.verdicts.base import VerdictError
from arena.verdicts.scale import score_of_elo
from arena.verdicts.sprt import (
    ELO_PER_T,
    Decision,
    EloModel,
    SequentialTest,
    estimate_elo,
    fit_to_effect,
    fit_to_score,
)

TEST = SequentialTest(0, 20)
Counts = st.lists(st.integers(1, 400), min_size=5, max_size=5)


def likeliest(shares: Floats, constraint: Callable[[Floats], float]) -> float:
    """Return the highest mean log-likelihood under a constraint, by a general optimiser."""
    limits = [{"type": "eq", "fun": lambda p: p.sum() - 1}, {"type": "eq", "fun": constraint}]
    optimum = minimize(  # type: ignore[call-overload]  # its stubs know no equality alone
        lambda p: -(shares * np.log(p)).sum(),
        shares,
        jac=lambda p: -shares / p,
        bounds=[(1e-9, 1)] * len(shares),
        constraints=limits,
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return -float(optimum.fun)


@pytest.mark.parametrize("counts", [[10, 40, 80, 50, 20], [30, 60, 110]])
@pytest.mark.parametrize("model", list(EloModel))
def test_the_ratio_is_that_of_the_likeliest_distributions(
    counts: list[int], model: EloModel
) -> None:
    table = np.array(counts)
    shares, values = table / table.sum(), np.linspace(0, 1, len(counts))
    log_likelihoods = []
    for elo in (20.0, 0.0):
        t = elo / ELO_PER_T * (np.sqrt(2) if len(counts) == 5 else 1)

        def constraint(p: Floats, elo: float = elo, t: float = t) -> float:
            mean = float(p @ values)
            if model is EloModel.LOGISTIC:
                return mean - score_of_elo(elo)
            return mean - 0.5 - t * float(np.sqrt(p @ (values - mean) ** 2))

        log_likelihoods.append(likeliest(shares, constraint))
    ratio = table.sum() * (log_likelihoods[0] - log_likelihoods[1])
    assert float(SequentialTest(0, 20, model=model).llr(counts)) == pytest.approx(ratio, abs=2e-3)


@given(Counts)
def test_turned_counts_and_bounds_turn_the_ratio(counts: list[int]) -> None:
    here, there = SequentialTest(0, 20).llr(counts), SequentialTest(-20, 0).llr(counts[::-1])
    assert float(here) == pytest.approx(-float(there), abs=1e-6)


@given(Counts, st.integers(0, 3))
def test_a_better_block_raises_the_ratio(counts: list[int], cell: int) -> None:
    better = counts.copy()
    better[cell], better[cell + 1] = better[cell] - 1, better[cell + 1] + 1
    assert TEST.llr(better) > TEST.llr(counts)


@given(Counts)
def test_fitted_distributions_keep_to_their_constraint(counts: list[int]) -> None:
    shares, values = np.array(counts) / sum(counts), np.linspace(0, 1, 5)
    assert fit_to_score(shares, 0.53) @ values == pytest.approx(0.53, abs=1e-6)
    fitted = fit_to_effect(shares, 0.1)
    mean = fitted @ values
    sd = np.sqrt(fitted @ (values - mean) ** 2)
    assert (mean - 0.5) / sd == pytest.approx(0.1, abs=1e-4)


def test_a_fit_ends_with_its_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    whole = fit_to_effect(shares, 0.1)
    monkeypatch.setattr("arena.verdicts.sprt._N_TURNS", 3)
    assert fit_to_effect(shares, 0.1) == pytest.approx(whole, abs=1e-3)


def test_a_fit_far_from_what_was_found_keeps_to_its_constraint() -> None:
    values, t = np.linspace(0, 1, 5), 200 / ELO_PER_T * np.sqrt(2)
    fitted = fit_to_effect(np.array([0.996, 0.001, 0.001, 0.001, 0.001]), t)
    mean = fitted @ values
    assert (mean - 0.5) / np.sqrt(fitted @ (values - mean) ** 2) == pytest.approx(t, rel=1e-3)


def test_no_outcome_says_nothing() -> None:
    state = TEST.state([0] * 5)
    assert (state.llr, state.n_games, state.decision) == (0.0, 0, Decision.CONTINUE)


def test_the_bounds_are_walds() -> None:
    test = SequentialTest(0, 5, alpha=0.01, beta=0.1)
    assert test.upper == pytest.approx(log(0.9 / 0.01))
    assert test.lower == pytest.approx(log(0.1 / 0.99))


def test_the_bounds_of_the_least_error_are_finite() -> None:
    least = SequentialTest(0, 5, alpha=5e-324, beta=5e-324)
    assert (least.lower, least.upper) == pytest.approx((-744.44, 744.44), abs=0.01)


def test_it_accepts_rejects_and_goes_on() -> None:
    assert TEST.state([100, 200, 300, 260, 160]).decision is Decision.ACCEPT
    assert TEST.state([160, 260, 300, 200, 100]).decision is Decision.REJECT
    assert TEST.state([10, 20, 30, 20, 12]).decision is Decision.CONTINUE
    assert TEST.state([10, 20, 30, 20, 12]).n_games == 184
    assert TEST.state([10, 20, 30]).n_games == 60


def test_the_curve_ends_at_the_ratio_of_all_outcomes() -> None:
    outcomes = [0, 2, 4, 3, 2, 2, 4]
    curve = TEST.curve(outcomes)
    assert len(curve) == len(outcomes)
    assert curve[-1] == pytest.approx(float(TEST.llr(np.bincount(outcomes, minlength=5))))
    assert len(TEST.curve([0, 1, 2], n_cells=3)) == 3


def test_many_tests_at_once_say_what_each_says() -> None:
    tables = np.array([[10, 20, 30, 25, 15], [5, 10, 70, 10, 5], [0, 0, 0, 0, 0]])
    for model in EloModel:
        test = SequentialTest(0, 20, model=model)
        each = [float(test.llr(table)) for table in tables]
        assert test.llr(tables).tolist() == pytest.approx(each, abs=1e-9)


def test_the_strength_is_the_elo_of_the_score_with_an_interval() -> None:
    even = estimate_elo([10, 20, 40, 20, 10])
    assert even.elo == pytest.approx(0.0, abs=1e-9)
    assert even.low == pytest.approx(-even.high)
    assert 25 < even.high < 50
    assert estimate_elo([0, 0, 0, 0, 50]).high < 4_000
    assert estimate_elo([0, 0, 0]).low < -100


@pytest.mark.parametrize(
    "counts", [[1, 2], [1, 2, 3, 4], [1.0, 2.0, 3.0], [[1, 2], [3, 4]]], ids=str
)
def test_counts_are_three_or_five_whole_numbers(counts: list[int]) -> None:
    with pytest.raises(VerdictError, match="counts must be 3 or 5 whole numbers"):
        TEST.llr(counts)


def test_counts_are_not_negative() -> None:
    with pytest.raises(VerdictError, match="counts must be 0 or more, got -2"):
        TEST.llr([1, 2, -2])


@pytest.mark.parametrize(("elo0", "elo1"), [(5, 5), (20, 0), (0, float("inf"))])
def test_bounds_are_in_order(elo0: float, elo1: float) -> None:
    with pytest.raises(VerdictError, match="elo0 < elo1"):
        SequentialTest(elo0, elo1)


@pytest.mark.parametrize(("model", "elo"), [(EloModel.LOGISTIC, 1_001), (EloModel.NORMALISED, 201)])
def test_bounds_are_in_reach(model: EloModel, elo: float) -> None:
    with pytest.raises(VerdictError, match=f"points of {model} Elo"):
        SequentialTest(0, elo, model=model)
    with pytest.raises(VerdictError, match=f"points of {model} Elo"):
        SequentialTest(-elo, 0, model=model)


@pytest.mark.parametrize("counts", [[0, 0, 0, 0, 50], [50, 0, 0, 0, 0], [0, 0, 50, 0, 0]])
@pytest.mark.parametrize("model", list(EloModel))
def test_one_sided_counts_have_a_ratio_too(counts: list[int], model: EloModel) -> None:
    for elo1 in (5, 20, 200):
        assert np.isfinite(SequentialTest(0, elo1, model=model).llr(counts))


@pytest.mark.parametrize("error", [0.0, 0.5, 1.0])
def test_errors_are_below_one_half(error: float) -> None:
    with pytest.raises(VerdictError, match="alpha must be between"):
        SequentialTest(0, 20, alpha=error)
    with pytest.raises(VerdictError, match="beta must be between"):
        SequentialTest(0, 20, beta=error)
