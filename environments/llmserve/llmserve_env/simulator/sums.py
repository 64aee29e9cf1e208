# A copy of arena/games/llmserve/sums.py, made by environments/copy_simulator.py: change that one.
"""Sums that come out the same in every release of Python."""

from collections.abc import Iterable


def add_up(numbers: Iterable[float]) -> float:
    """Return the sum, added from left to right.

    Python's own `sum` of floats carries rounding errors along since 3.12, and did not before: an
    episode would end in other bits.
    """
    total = 0.0
    for number in numbers:
        total += number
    return total
