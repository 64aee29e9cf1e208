"""v and w against fifty and more digits of mpmath, and their bounds far beyond."""

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.truncated_normal import draw_moments, win_moments

ROOT_2 = mpmath.sqrt(mpmath.mpf(2))
Exact = tuple[mpmath.mpf, mpmath.mpf]


def exact_win(x: float) -> Exact:
    v = mpmath.npdf(x) / (mpmath.erfc(-mpmath.mpf(x) / mpmath.sqrt(2)) / 2)
    return v, v * (v + x)


def exact_draw(t: float, e: float) -> Exact:
    lead = abs(mpmath.mpf(t))
    low, high = lead - e, lead + e
    mass = (mpmath.erfc(low / mpmath.sqrt(2)) - mpmath.erfc(high / mpmath.sqrt(2))) / 2
    v = (mpmath.npdf(low) - mpmath.npdf(high)) / mass
    w = v * v + (high * mpmath.npdf(high) - low * mpmath.npdf(low)) / mass
    return (-v if t > 0 else v), w


def assert_near(values: tuple[float, float], exact: Exact) -> None:
    for value, expected in zip(values, exact, strict=True):
        assert abs(value - expected) <= 1e-12 * max(1, abs(expected))


@given(st.floats(-200, 20))
def test_a_win_matches_fifty_digits(x: float) -> None:
    with mpmath.workdps(50):
        assert_near(win_moments(x), exact_win(x))


@given(st.floats(-30, 30), st.floats(1e-9, 6))
def test_a_draw_matches_fifty_digits(t: float, e: float) -> None:
    with mpmath.workdps(80):
        assert_near(draw_moments(t, e), exact_draw(t, e))


@pytest.mark.parametrize("gap", [1e3, 1e4, 1e5])
def test_the_most_surprising_results_match_too(gap: float) -> None:
    with mpmath.workdps(80):
        assert_near(win_moments(-gap), exact_win(-gap))
        assert_near(draw_moments(gap, 0.12), exact_draw(gap, 0.12))


@given(st.floats(-1e12, 1e12))
def test_a_win_raises_the_mean_and_leaves_a_variance(x: float) -> None:
    v, w = win_moments(x)
    assert v >= max(0.0, -x)
    assert 0 <= w <= 1


@given(st.floats(-1e8, 1e8), st.floats(1e-12, 40))
def test_a_draw_brings_the_difference_inside_the_margin(t: float, e: float) -> None:
    v, w = draw_moments(t, e)
    assert abs(t + v) <= e * (1 + 1e-9) + 1e-12 * abs(t)
    assert 0 <= w <= 1


@given(st.floats(0, 50), st.floats(1e-6, 6))
def test_a_draw_is_symmetric(t: float, e: float) -> None:
    v, w = draw_moments(t, e)
    assert draw_moments(-t, e) == (-v, w)
