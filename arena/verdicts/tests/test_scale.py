"""Gaps as ratings, Elo and points of win rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.base import BETA
from arena.verdicts import scale
from arena.verdicts.base import VerdictError


def test_equal_agents_have_half_of_the_points_and_no_elo() -> None:
    assert scale.score_of_gap(0.0) == pytest.approx(0.5)
    assert scale.elo_of_score(0.5) == pytest.approx(0.0)
    assert scale.gap_of_points(0.0) == pytest.approx(0.0, abs=1e-9)


def test_a_gap_of_beta_wins_three_quarters_without_draws() -> None:
    assert scale.score_of_gap(BETA, draw_probability=0.0) == pytest.approx(0.7602, abs=1e-4)


def test_one_unit_is_some_45_points_of_elo() -> None:
    assert scale.elo_of_score(scale.score_of_gap(1.0)) == pytest.approx(46, abs=2)


@given(st.floats(-20, 20), st.floats(0, 0.6))
def test_a_gap_survives_its_score(gap: float, draws: float) -> None:
    score = scale.score_of_gap(gap, draw_probability=draws)
    assert scale.gap_of_score(score, draw_probability=draws) == pytest.approx(gap, abs=1e-5)


@given(st.floats(-700, 700))
def test_elo_survives_its_gap(elo: float) -> None:
    assert scale.elo_of_score(scale.score_of_gap(scale.gap_of_elo(elo))) == pytest.approx(
        elo, abs=1e-5
    )


@pytest.mark.parametrize("score", [0.0, 1.0, -0.1, float("nan")])
def test_a_sure_score_has_no_gap(score: float) -> None:
    for convert in (scale.gap_of_score, scale.elo_of_score):
        with pytest.raises(VerdictError, match="score must be between 0 and 1"):
            convert(score)


@pytest.mark.parametrize("elo", [float("inf"), float("nan"), 5_000.0])
def test_endless_elo_is_refused(elo: float) -> None:
    with pytest.raises(VerdictError, match="elo must be"):
        scale.score_of_elo(elo)
