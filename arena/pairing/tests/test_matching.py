"""Greedy matching: the same as taking the best pair over and over."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.conformance.standings import standing
from arena.pairing.base import Field
from arena.pairing.matching import count_agent_results, expected_information, match_greedily
from arena.ratings.base import BETA


def symmetric(n: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    half = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return half + half.T


@given(st.integers(2, 12), st.integers(0, 10**6))
def test_couples_are_those_of_the_best_pair_over_and_over(n: int, seed: int) -> None:
    value = symmetric(n, seed)
    best_pairs, free = [], set(range(n))
    for i, j in sorted(combinations(range(n), 2), key=lambda pair: -value[pair]):
        if {i, j} <= free:
            best_pairs.append((i, j))
            free -= {i, j}
    assert match_greedily(value, 2) == best_pairs


@given(st.integers(3, 14), st.integers(3, 5), st.integers(0, 10**6))
def test_groups_share_nobody_and_leave_too_few_for_another(n: int, n_seats: int, seed: int) -> None:
    n_seats = min(n, n_seats)
    lineups = match_greedily(symmetric(n, seed), n_seats)
    agents = [agent for lineup in lineups for agent in lineup]
    assert len(set(agents)) == len(agents) == n // n_seats * n_seats


def test_pairs_of_no_value_are_matched_too() -> None:
    assert match_greedily(np.zeros((4, 4)), 2) == [(0, 1), (2, 3)]
    value = symmetric(6, 1)
    before = value.copy()
    match_greedily(value, 3)
    assert (value == before).all()


def test_a_close_match_tells_most() -> None:
    information = expected_information(np.array([0.0, BETA, -BETA, 3 * BETA, 1e6]))
    assert information[0] == pytest.approx(4 / (2 * np.pi) / (2 * BETA**2))
    assert information[0] > information[1] == information[2] > information[3] > information[4] > 0


def test_results_and_matches_in_flight_are_counted() -> None:
    results = np.array([[0, 1, 1], [1, 0, 0], [1, 2, -1]])
    assert count_agent_results(
        standing(Field(4, 2), results, n_in_flight={(2, 3): 2})
    ).tolist() == [*(2, 3, 3, 2)]
