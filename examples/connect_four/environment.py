"""Connect four for thousands of positions at once: a seat's stones are the bits of one integer.

Columns have seven bits, the lowest row first; the seventh stays empty, so that no line runs from
one column into the next. Observations are those of the game that agents are rated in, bit by bit.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

N_ROWS, N_COLUMNS = 6, 7
OBSERVATION_SHAPE = (3, N_ROWS, N_COLUMNS)
N_CELLS = N_ROWS * N_COLUMNS

_HEIGHT = N_ROWS + 1
_BOTTOM = np.array([1 << _HEIGHT * column for column in range(N_COLUMNS)], dtype=np.int64)
_COLUMN = _BOTTOM * ((1 << N_ROWS) - 1)
_TOP = _BOTTOM << (N_ROWS - 1)
_CELLS = np.array(
    [[_HEIGHT * column + row for column in range(N_COLUMNS)] for row in range(N_ROWS)]
)
_DIRECTIONS = (1, _HEIGHT - 1, _HEIGHT, _HEIGHT + 1)
"""How many bits lie between neighbours: upwards, falling, along a row, rising."""

Stones = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Positions(NamedTuple):
    """N positions, empty or in play.

    mover and waiting: int64 [N], the stones of the seat to move and those of the other one.
    n_plies: int64 [N], how many there are on the board; seat 0 moves when it is even.
    """

    mover: Stones
    waiting: Stones
    n_plies: NDArray[np.int64]

    def at(self, rows: NDArray[np.generic] | slice) -> "Positions":
        """Return the positions of these rows."""
        return Positions(self.mover[rows], self.waiting[rows], self.n_plies[rows])


def start(n: int) -> Positions:
    """Return n empty boards."""
    return Positions(*(np.zeros(n, dtype=np.int64) for _ in range(3)))


def legal(positions: Positions) -> Flags:
    """Return bool [N, 7], True where the column is not full."""
    has_room: Flags = ((positions.mover | positions.waiting)[:, None] & _TOP) == 0
    return has_room


def play(positions: Positions, actions: NDArray[np.int64]) -> Positions:
    """Return the positions after one legal action each; the other seat is to move in them."""
    stones = positions.mover | positions.waiting
    placed = (stones + _BOTTOM[actions]) & _COLUMN[actions]
    return Positions(positions.waiting, positions.mover | (placed & ~stones), positions.n_plies + 1)


def children(positions: Positions) -> Positions:
    """Return [N * 7] positions, one per column of each; those of full columns mean nothing."""
    everywhere = positions.at(np.arange(len(positions.mover)).repeat(N_COLUMNS))
    return play(everywhere, np.tile(np.arange(N_COLUMNS), len(positions.mover)))


def has_four(stones: Stones) -> Flags:
    """Return bool [N], True where there are four in a row."""
    flags = np.zeros(len(stones), dtype=np.bool_)
    for step in _DIRECTIONS:
        pairs = stones & (stones >> step)
        flags |= (pairs & (pairs >> 2 * step)) != 0
    return flags


def can_win(positions: Positions) -> Flags:
    """Return bool [N], True where the seat to move has an action that wins at once."""
    wins = has_four(children(positions).waiting).reshape(-1, N_COLUMNS)
    winning: Flags = np.any(wins & legal(positions), axis=1)
    return winning


def observe(positions: Positions) -> NDArray[np.float32]:
    """Return float32 [N, 3, 6, 7]: the stones of seat 0, of seat 1, and what is empty."""
    is_second = positions.n_plies % 2 == 1
    first = np.where(is_second, positions.waiting, positions.mover)
    second = np.where(is_second, positions.mover, positions.waiting)
    planes = np.stack([first, second, ~(first | second)], axis=1)
    bits: Stones = (planes[:, :, None, None] >> _CELLS) & 1
    return bits.astype(np.float32)
