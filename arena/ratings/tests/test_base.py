"""Constants and lineups."""

from statistics import NormalDist

import pytest

from arena.ratings.base import (
    DEFAULT,
    INTERVAL,
    Z95,
    Constants,
    RatingError,
    SelfPlayError,
    UnknownAgentError,
    check_lineup,
)


def test_the_draw_margin_is_that_of_the_package() -> None:
    assert DEFAULT.draw_margin == pytest.approx(0.740466587453, abs=1e-11)
    assert Constants(draw_probability=0).draw_margin == 0


@pytest.mark.parametrize("draw_probability", [-0.1, 1, 1.5, float("nan")])
def test_a_draw_probability_out_of_range_is_refused(draw_probability: float) -> None:
    with pytest.raises(RatingError, match=f"draw_probability .* got {draw_probability}"):
        Constants(draw_probability=draw_probability)


@pytest.mark.parametrize("beta", [0, -1.0, float("inf"), float("nan")])
def test_a_beta_out_of_range_is_refused(beta: float) -> None:
    with pytest.raises(RatingError, match=f"beta .* got {beta}"):
        Constants(beta=beta)


@pytest.mark.parametrize(
    ("lineup", "ranks", "error"),
    [
        ((0,), (0,), RatingError),
        ((0, 1), (0, 1, 2), RatingError),
        ((0, 1, 0), (0, 1, 2), SelfPlayError),
    ],
)
def test_a_broken_result_is_refused(
    lineup: tuple[int, ...], ranks: tuple[int, ...], error: type[RatingError]
) -> None:
    with pytest.raises(error):
        check_lineup(lineup, ranks)


def test_a_lineup_from_outside_of_the_field_is_refused() -> None:
    check_lineup((0, 4), (0, 1), 5)
    with pytest.raises(UnknownAgentError, match=r"agent 5 .* 0\.\.4"):
        check_lineup((0, 5), (0, 1), 5)


def test_the_interval_holds_as_much_as_its_text_says() -> None:
    held = NormalDist().cdf(Z95) - NormalDist().cdf(-Z95)
    assert f"{100 * held:.0f} %" == INTERVAL
