"""The reward of a window and the score of an episode, against the formulae in the docs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.games.llmserve.grading import Grader, Window, read_terms, reward

PERFECT = Window(10, 10, 10, 10_000, 0.0, 0.5, 0, 20, 0, 10)
AMOUNTS = st.floats(0, 1e6)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    offered = draw(AMOUNTS)
    in_time = offered * draw(st.floats(0, 1))
    good = in_time * draw(st.floats(0, 1))
    tokens, dollars, evicted, active, dropped, arrived = draw(st.tuples(*[AMOUNTS] * 6))
    memory = draw(st.floats(0, 1))
    return Window(
        offered, good, in_time, tokens, dollars, memory, evicted, active, dropped, arrived
    )


def test_a_perfect_window_earns_one() -> None:
    assert reward(PERFECT) == pytest.approx(1.0)


def test_the_worst_window_costs_what_the_formula_says() -> None:
    worst = Window(10, 0, 0, 0, 1.0, 1.0, 1e12, 0, 1e12, 0)
    assert reward(worst) == pytest.approx(-0.65)


def test_each_term_is_weighted_as_documented() -> None:
    window = PERFECT._replace(good=4, in_time=5, dollars=0.018, memory=0.96, evicted=7, dropped=5.5)
    assert read_terms(window) == pytest.approx((0.4, 0.5, 0.5, 0.5, 1 / 3, 0.5))
    paid = 0.20 * 0.5 + 0.20 / 3 + 0.25 * 0.5
    assert reward(window) == pytest.approx(0.55 * 0.4 + 0.25 * 0.5 + 0.20 * 0.5 - paid)


def test_nothing_offered_is_not_a_failure() -> None:
    idle = Window(0, 0, 0, 0, 0.01, 0.5, 0, 0, 0, 0)
    assert reward(idle) == pytest.approx(0.8)


def test_the_score_is_of_the_sums_of_all_windows() -> None:
    grader = Grader()
    grader.add(PERFECT._replace(dollars=0.018))
    grader.add(PERFECT._replace(offered=30, good=10, in_time=20, dollars=0.018, memory=1.0))
    assert grader.score() == pytest.approx((20 / 40) * (30 / 40) * (0.5 + 0.25) * (1 - 0.25))


def test_an_episode_without_a_window_scores_one() -> None:
    assert Grader().score() == 1.0


@given(st.lists(windows(), min_size=1, max_size=5))
def test_rewards_and_scores_stay_within_their_ranges(episode: list[Window]) -> None:
    grader = Grader()
    for window in episode:
        grader.add(window)
        assert -0.65 - 1e-9 <= reward(window) <= 1.0
    assert 0.0 <= grader.score() <= 1.0
