"""Sums: from left to right, as Python's own were before 3.12."""

from arena.games.llmserve.sums import add_up


def test_numbers_are_added_from_left_to_right_with_their_rounding_errors() -> None:
    assert add_up([0.1] * 10) == 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1
    assert add_up([1e16, 1.0, 1.0]) == 1e16
    assert add_up(iter(())) == 0.0
