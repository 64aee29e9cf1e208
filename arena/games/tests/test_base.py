"""Ranks from returns, forfeits and replays."""

from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import IllegalActionError, InvalidReturnsError
from arena.fault_injection import INVALID_VALUES
from arena.games import registry
from arena.games.base import OVER, forfeit_ranks, ranks, replay

FINITE = st.lists(st.floats(-10, 10) | st.sampled_from([0.0, 1.0]), min_size=1, max_size=6)


@given(FINITE)
def test_a_rank_counts_the_seats_that_did_better(returns: list[float]) -> None:
    seat_ranks = ranks(returns, len(returns))
    assert seat_ranks == [sum(other > mine for other in returns) for mine in returns]
    assert ranks(tuple(returns), len(returns)) == seat_ranks


def test_equal_returns_share_the_better_rank() -> None:
    assert ranks([0.0, 3.0, 0.0, -1.0], 4) == [1, 0, 1, 3]
    assert ranks([0.0, 0.0], 2) == [0, 0]


@pytest.mark.parametrize(
    "returns",
    [
        *INVALID_VALUES,
        [],
        [1.0],
        [1.0, -1.0, 0.0],
        [1, -1],
        [True, False],
        [1.0, nan],
        [inf, -inf],
        [1.0, None],
        [1.0, "0"],
        "ab",
        {0: 1.0, 1: 2.0},
        None,
    ],
    ids=repr,
)
def test_anything_but_a_finite_float_per_seat_is_refused(returns: object) -> None:
    with pytest.raises(InvalidReturnsError, match="returns must be"):
        ranks(returns, 2)


@pytest.mark.parametrize(
    ("guilty", "n_seats", "expected_ranks"), [(0, 2, [1, 0]), (1, 2, [0, 1]), (1, 3, [0, 2, 0])]
)
def test_who_forfeits_is_last(guilty: int, n_seats: int, expected_ranks: list[int]) -> None:
    assert forfeit_ranks(guilty, n_seats) == expected_ranks


def test_a_replay_ends_where_the_actions_led() -> None:
    state = replay(registry.get("tic_tac_toe"), 1, [0, 3, 1, 4, 2], opening_plies=0)
    assert state.to_move() == OVER
    assert ranks(state.returns(), 2) == [0, 1]


def test_a_replay_of_actions_that_do_not_fit_is_refused() -> None:
    with pytest.raises(IllegalActionError, match=r"tic_tac_toe: 0 is not in \(1, 2, 3,"):
        replay(registry.get("tic_tac_toe"), 1, [0, 0], opening_plies=0)
