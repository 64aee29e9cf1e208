"""Times and values of moves, packed into few bytes."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.move_notes import NOTHING, note_time, note_value, note_values, pack_notes, unpack_notes


@given(st.lists(st.floats(1e-6, 14_000), min_size=1, max_size=50))
def test_a_time_is_kept_to_within_five_percent_in_a_byte(times: list[float]) -> None:
    packed = pack_notes([note_time(seconds) for seconds in times])
    assert len(packed) == len(times)
    notes = unpack_notes(packed, len(times))
    assert [note.took_s for note in notes] == pytest.approx(times, rel=0.05)
    assert {note.value for note in notes} == {None}


@pytest.mark.parametrize(("seconds", "kept"), [(-1, 1e-6), (0, 1e-6), (1e9, 14_454), (inf, 14_454)])
def test_what_no_code_fits_is_the_shortest_or_the_longest(seconds: float, kept: float) -> None:
    if seconds == inf:
        seconds = 1e300
    (note,) = unpack_notes(pack_notes([note_time(seconds)]), 1)
    assert note.took_s == pytest.approx(kept, rel=0.01)


@given(st.lists(st.floats(-20, 20), min_size=1, max_size=50))
def test_values_come_back_alone_and_as_a_block(values: list[float]) -> None:
    alone = [note_time(1.0) + note_value(value) for value in values]
    block = [note_time(1.0) + added for added in note_values(np.array(values, dtype=np.float64))]
    assert alone == block
    notes = unpack_notes(pack_notes(alone), len(values))
    assert [note.value for note in notes] == pytest.approx(values, rel=1e-3, abs=1e-4)
    assert {note.took_s for note in notes} == {1.0}


@pytest.mark.parametrize("value", [None, nan, inf, -inf, True, 3, "0.5", 10**400])
def test_what_is_no_finite_float_is_no_value(value: object) -> None:
    assert note_value(value) == 0
    notes = unpack_notes(pack_notes([note_time(1.0) + note_value(0.0), note_time(2.0)]), 2)
    assert [note.value for note in notes] == [0.0, None]


def test_a_huge_value_is_cut() -> None:
    assert note_values(np.array([1e30, -1e30, nan, inf]))[2:] == [0, 0]
    notes = unpack_notes(pack_notes([1 + note_value(-1e30)]), 1)
    assert notes[0].value == -65_504


@pytest.mark.parametrize("packed", [b"", b"1", b"12345", bytes(7)])
def test_what_does_not_fit_the_number_of_moves_tells_nothing(packed: bytes) -> None:
    assert unpack_notes(packed, 2) == [NOTHING, NOTHING]
    assert unpack_notes(packed, 0) == []


@given(st.lists(st.integers(0, 2**63 - 1), max_size=20), st.binary(max_size=60))
def test_nothing_that_a_node_says_breaks_it(notes: list[int], packed: bytes) -> None:
    for n_moves in (0, len(notes), len(packed), len(packed) // 3):
        assert len(unpack_notes(pack_notes(notes), n_moves)) == n_moves
        assert len(unpack_notes(packed, n_moves)) == n_moves
