"""What is kept of a move beside its action: how long it took, and what its agent expected of it.

A note is an int of 24 bits: the code of a time in the lowest 8, above it the code of a value, 0 for
none. The notes of a match are packed into a byte a move, three where some agent said values: a
million matches of 60 moves take 60 MB. They are for reading only: no rating and no hash has them.
"""

import struct
from collections.abc import Sequence
from math import copysign, isfinite, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_TIME_BITS = 8
_MOST_TIME, _MOST_VALUE = 255, 65_504.0
# 25 codes for each power of ten, from 1 microsecond to 4 hours: a time is kept to within 5 %.
_CODES_A_DECADE, _CODE_OF_SECOND = 25, 151
_ROUNDED = _CODE_OF_SECOND + 0.5
_SHORTEST_S = 1e-6
# Values are half-precision floats; their bits are turned so that what is no number becomes 0.
_NAN_BITS = 0x7E00
_VALUE_MASK = 0xFFFF


class MoveNote(NamedTuple):
    """What is known of a move: seconds, and what its seat expected of its return; else None."""

    took_s: float | None
    value: float | None


NOTHING = MoveNote(None, None)


def note_time(seconds: float) -> int:
    """Return the note of a move that took so long and of which no value was said."""
    if seconds <= _SHORTEST_S:
        return 1
    code = int(_CODES_A_DECADE * log10(seconds) + _ROUNDED)
    # Not min(): this runs for every move, and the call would cost as much as the rest.
    return code if code < _MOST_TIME else _MOST_TIME


def note_value(value: object) -> int:
    """Return what a value adds to the note of its move: 0 for what is no finite float."""
    if not isinstance(value, float) or not isfinite(value):
        return 0
    near = value if abs(value) <= _MOST_VALUE else copysign(_MOST_VALUE, value)
    return (int.from_bytes(struct.pack("<e", near), "little") ^ _NAN_BITS) << _TIME_BITS


def note_values(values: NDArray[np.floating[Any]]) -> list[int]:
    """Return what each of a block of values adds to the note of its move."""
    near = np.clip(values, -_MOST_VALUE, _MOST_VALUE).astype("<f2")
    codes = np.where(np.isfinite(values), near.view("<u2") ^ _NAN_BITS, 0).astype(np.int64)
    added: list[int] = (codes << _TIME_BITS).tolist()
    return added


def pack_notes(notes: Sequence[int]) -> bytes:
    """Return the notes of a match: the times of all moves, then their values if there are any."""
    times = bytes([note & _MOST_TIME for note in notes])
    if max(notes, default=0) <= _MOST_TIME:
        return times
    values = [note >> _TIME_BITS & _VALUE_MASK for note in notes]
    return times + struct.pack(f"<{len(values)}H", *values)


def unpack_notes(packed: bytes, n_moves: int) -> list[MoveNote]:
    """Return a note for each move; empty notes where fewer than n_moves were packed."""
    if not n_moves or len(packed) not in (n_moves, 3 * n_moves):
        return [NOTHING] * n_moves
    times = [
        10 ** ((code - _CODE_OF_SECOND) / _CODES_A_DECADE) if code else None
        for code in packed[:n_moves]
    ]
    codes = np.frombuffer(packed[n_moves:] or bytes(2 * n_moves), "<u2")
    values = (codes ^ _NAN_BITS).astype("<u2").view("<f2").tolist()
    return [
        MoveNote(took_s, value if code and isfinite(value) else None)
        for took_s, value, code in zip(times, values, codes, strict=True)
    ]
