"""The shared word."""

import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.current_call import MAX_BLOCK, MAX_MATCHES, MAX_SEATS, SIZE, CallMemory, Phase


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[CallMemory, CallMemory]]:
    with tempfile.TemporaryFile() as shared:
        shared.truncate(SIZE)
        both = CallMemory(shared.fileno()), CallMemory(shared.fileno())
    yield both
    for end in both:
        end.close()


@given(
    subject=st.integers(0, MAX_MATCHES - 1),
    seat=st.integers(0, MAX_SEATS - 1),
    phase=st.sampled_from(Phase),
)
def test_the_parent_sees_what_the_player_shows(
    ends: tuple[CallMemory, CallMemory], subject: int, seat: int, phase: Phase
) -> None:
    player, parent = ends
    player.show_call(subject, seat, phase)
    assert parent.read_call()[1:] == (subject, seat, phase)


def test_two_calls_of_one_match_are_told_apart(ends: tuple[CallMemory, CallMemory]) -> None:
    player, parent = ends
    player.show_call(1, 0, Phase.POLICY)
    first = parent.read_call()
    player.show_call(1, 0, Phase.POLICY)
    assert parent.read_call() != first


def test_a_cleared_beacon_shows_no_call(ends: tuple[CallMemory, CallMemory]) -> None:
    player, parent = ends
    player.show_call(1, 0, Phase.GAME)
    player.clear_call()
    assert parent.read_call().phase is Phase.IDLE


@given(agent=st.integers(0, 99), rows=st.lists(st.integers(0, MAX_MATCHES - 1), max_size=300))
def test_the_parent_sees_the_matches_of_a_block(
    ends: tuple[CallMemory, CallMemory], agent: int, rows: list[int]
) -> None:
    player, parent = ends
    player.show_block(agent, rows)
    assert parent.read_call()[1:] == (agent, 0, Phase.BLOCK)
    assert parent.read_block() == rows


def test_of_a_block_that_is_too_large_the_first_rows_are_seen(
    ends: tuple[CallMemory, CallMemory],
) -> None:
    player, parent = ends
    player.show_block(0, range(MAX_BLOCK + 9))
    assert parent.read_block() == list(range(MAX_BLOCK))


def test_waiting_is_a_call_of_nobody_and_what_was_shown_is_a_new_call_after_it(
    ends: tuple[CallMemory, CallMemory],
) -> None:
    player, parent = ends
    player.show_call(5, 1, Phase.POLICY)
    before = parent.read_call()
    with player.show_waiting():
        assert parent.read_call().phase is Phase.WAIT
    assert parent.read_call()[1:] == (5, 1, Phase.POLICY)
    assert parent.read_call().turn > before.turn
    player.clear_call()
    with pytest.raises(ZeroDivisionError), player.show_waiting():
        raise ZeroDivisionError
    assert parent.read_call().phase is Phase.IDLE


def test_nonsense_in_the_memory_is_no_call_and_a_block_within_bounds(
    ends: tuple[CallMemory, CallMemory],
) -> None:
    player, parent = ends
    player._word[0] = 2**64 - 1
    player._rows[2] = 2**32 - 1
    assert parent.read_call().phase is Phase.IDLE
    assert len(parent.read_block()) == MAX_BLOCK


def test_the_count_of_calls_starts_again_after_the_last(
    ends: tuple[CallMemory, CallMemory],
) -> None:
    player, parent = ends
    player._turn = ((1 << 24) - 1) << 36
    player.show_call(5, 1, Phase.POLICY)
    assert parent.read_call() == (0, 5, 1, Phase.POLICY)
