"""How well ratings order agents of known levels."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.ratings.accuracy import seed_accuracy, strict_accuracy
from arena.ratings.base import RatingError

AGENTS = st.lists(st.tuples(st.integers(0, 9), st.sampled_from([1.0, 2.0, 3.0, 4.5])), max_size=12)


@given(AGENTS)
def test_they_count_what_their_words_say(agents: list[tuple[int, float]]) -> None:
    levels, mus = [level for level, _ in agents], [mu for _, mu in agents]
    n = len(agents)
    agree = [(levels[i] - levels[j]) * (mus[i] - mus[j]) for i in range(n) for j in range(n)]
    by_seed = sum(product >= 0 for product in agree) / n**2 if n else None
    different = [(i, j) for i in range(n) for j in range(i) if levels[i] != levels[j]]
    points = [
        0.5 if mus[i] == mus[j] else float((levels[i] > levels[j]) == (mus[i] > mus[j]))
        for i, j in different
    ]
    strict = sum(points) / len(points) if points else None
    assert seed_accuracy(levels, mus) == (None if by_seed is None else pytest.approx(by_seed))
    assert strict_accuracy(levels, mus) == (None if strict is None else pytest.approx(strict))


def test_before_the_first_match_the_seed_claims_all_and_the_strict_one_half() -> None:
    assert seed_accuracy([3, 1, 4, 1], [25.0] * 4) == 1.0
    assert strict_accuracy([3, 1, 4, 1], [25.0] * 4) == 0.5


def test_a_perfect_and_a_reversed_order() -> None:
    assert strict_accuracy([1, 2, 3], [10.0, 20.0, 30.0]) == 1.0
    assert strict_accuracy([1, 2, 3], [30.0, 20.0, 10.0]) == 0.0
    assert seed_accuracy([1, 2, 3], [30.0, 20.0, 10.0]) == pytest.approx(1 / 3)


def test_levels_without_their_ratings_are_refused() -> None:
    with pytest.raises(RatingError, match=r"2 levels .* 1 ratings"):
        strict_accuracy([1, 2], [25.0])
