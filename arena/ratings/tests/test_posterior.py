"""Newton's method: it ends at the mode from anywhere, or says why not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings import posterior
from arena.ratings.base import RatingError
from arena.ratings.counts import count_results
from arena.ratings.likelihood import PairLikelihood
from arena.ratings.posterior import Objective, find_mode

MARGIN = 0.1257


def objective(results: list[tuple[int, int, int]], n_agents: int) -> Objective:
    return Objective(likelihood(results, n_agents))


def likelihood(results: list[tuple[int, int, int]], n_agents: int) -> PairLikelihood:
    return PairLikelihood(count_results(results), n_agents, margin=MARGIN, weight=1.0)


CHAIN = objective([(0, 1, 1), (0, 1, 1), (1, 2, 0), (1, 2, 1), (2, 0, -1)], 3)


@given(st.lists(st.floats(-200, 200), min_size=3, max_size=3), st.floats(0.1, 7))
def test_it_ends_at_the_same_point_from_anywhere(start: list[float], spread: float) -> None:
    expected = find_mode(CHAIN, spread, np.zeros(3))
    mode = find_mode(CHAIN, spread, np.array(start))
    assert mode.z == pytest.approx(expected.z, abs=1e-9)
    assert mode.uncertainty.covariance == pytest.approx(expected.uncertainty.covariance, abs=1e-9)


def test_a_step_too_far_is_shortened() -> None:
    # Far out the likelihood is flat, and the prior alone leads to where every win is a surprise.
    many = objective([(0, 1, 1)] * 100_000, 2)
    expected = find_mode(many, 7.0, np.zeros(2))
    assert find_mode(many, 7.0, np.array([30.0, -30.0])).z == pytest.approx(expected.z, abs=1e-9)


@given(st.floats(-3, 3), st.floats(-3, 3), st.sampled_from([-1, 0, 1]))
def test_the_slopes_are_those_of_the_value(z_0: float, z_1: float, score: int) -> None:
    of_one, step = likelihood([(0, 1, score)], 2), 1e-4
    z, aside = np.array([z_0, z_1]), np.array([step, 0.0])
    here, up, down = of_one.at(z), of_one.at(z + aside), of_one.at(z - aside)
    assert here.gradient[0] == pytest.approx((up.value - down.value) / (2 * step), abs=1e-5)
    slope = (down.gradient[0] - up.gradient[0]) / (2 * step)
    assert here.curvature == pytest.approx([slope], abs=1e-5)
    assert here.gradient[1] == -here.gradient[0]


@given(st.integers(0, 2), st.integers(0, 2))
def test_one_more_win_never_lowers_the_winner_nor_raises_the_loser(i: int, j: int) -> None:
    results = [(0, 1, 1), (0, 1, 1), (1, 2, 0), (1, 2, 1), (2, 0, -1)]
    more = results + [(i, j, 1)] * (i != j)
    before, after = (find_mode(objective(r, 3), 1.0, np.zeros(3)).z for r in (results, more))
    assert after[i] >= before[i] - 1e-12 * (i == j)
    assert after[j] <= before[j] + 1e-12 * (i == j)


def test_without_a_prior_there_is_no_mode() -> None:
    with pytest.raises(RatingError, match="not positive definite"):
        find_mode(objective([(0, 1, 1)], 2), float("inf"), np.zeros(2))


def test_it_says_so_when_it_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior, "_MAX_STEPS", 2)
    with pytest.raises(RatingError, match="3 agents did not settle in 2 steps"):
        find_mode(CHAIN, 1.0, np.zeros(3))
