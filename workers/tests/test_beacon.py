"""The shared word."""

import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.beacon import MAX_MATCHES, MAX_SEATS, SIZE, Beacon, Phase


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[Beacon, Beacon]]:
    with tempfile.TemporaryFile() as shared:
        shared.truncate(SIZE)
        both = Beacon(shared.fileno()), Beacon(shared.fileno())
    yield both
    for end in both:
        end.close()


@given(
    subject=st.integers(0, MAX_MATCHES - 1),
    seat=st.integers(0, MAX_SEATS - 1),
    phase=st.sampled_from(Phase),
)
def test_the_parent_sees_what_the_player_shows(
    ends: tuple[Beacon, Beacon], subject: int, seat: int, phase: Phase
) -> None:
    player, parent = ends
    player.show(subject, seat, phase)
    assert parent.read()[1:] == (subject, seat, phase)


def test_two_calls_of_one_match_are_told_apart(ends: tuple[Beacon, Beacon]) -> None:
    player, parent = ends
    player.show(1, 0, Phase.POLICY)
    first = parent.read()
    player.show(1, 0, Phase.POLICY)
    assert parent.read() != first


def test_a_cleared_beacon_shows_no_call(ends: tuple[Beacon, Beacon]) -> None:
    player, parent = ends
    player.show(1, 0, Phase.GAME)
    player.clear()
    assert parent.read().phase is Phase.IDLE


def test_the_count_of_calls_starts_again_after_the_last(ends: tuple[Beacon, Beacon]) -> None:
    player, parent = ends
    player._turn = ((1 << 24) - 1) << 36
    player.show(5, 1, Phase.POLICY)
    assert parent.read() == (0, 5, 1, Phase.POLICY)
