"""Fields, blocks and their rotations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import UnknownNameError
from arena.pairing import registry
from arena.pairing.base import Field, PairingError, blocks_for, rotations


def test_a_block_puts_every_agent_once_in_every_seat() -> None:
    assert rotations((4, 7)) == [(4, 7), (7, 4)]
    assert rotations((1, 2, 3)) == [(1, 2, 3), (2, 3, 1), (3, 1, 2)]


@given(st.integers(0, 10**9), st.integers(1, 9))
def test_the_blocks_hold_the_matches_and_no_block_is_idle(n_matches: int, n_seats: int) -> None:
    n_blocks = blocks_for(n_matches, n_seats)
    assert 0 <= n_blocks * n_seats - n_matches < n_seats


@pytest.mark.parametrize(
    ("n_agents", "n_seats", "words"),
    [
        (1, 1, r"n_agents must be 2 or more for 1 seats, got 1"),
        (0, 2, r"n_agents must be 2 or more for 2 seats, got 0"),
        (1, 2, r"n_agents must be 2 or more for 2 seats, got 1"),
        (2, 3, r"n_agents must be 3 or more for 3 seats, got 2"),
        (5, 0, r"n_seats must be 1 or more, got 0"),
    ],
)
def test_a_field_that_cannot_fill_the_seats_is_refused(
    n_agents: int, n_seats: int, words: str
) -> None:
    with pytest.raises(PairingError, match=words):
        Field(n_agents, n_seats)


@pytest.mark.parametrize(("n_matches", "n_seats"), [(-1, 2), (4, 0)])
def test_a_negative_number_of_matches_is_refused(n_matches: int, n_seats: int) -> None:
    with pytest.raises(PairingError, match=r"must be . or more, got"):
        blocks_for(n_matches, n_seats)


def test_an_unknown_pairing_is_refused_with_the_choices() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown pairing 'swiss'.*double_round_robin"):
        registry.get("swiss")
