"""Boards to be drawn: cells and pieces read from the text of an engine's state.

One entry of KINDS per game; a game without one is shown as its text.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

# Width of a cell in the drawing's own units, and the room around the cells for the labels.
CELL, EDGE = 10, 6
HEX_HEIGHT = 8.66  # CELL times the sine of 60 degrees
EMPTY = "."
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_PIECES = dict(zip("kqrbnp", "\u265a\u265b\u265c\u265d\u265e\u265f", strict=True))
_TEXT_FORM = "\ufe0e"  # else some systems draw a pawn as a coloured picture

Rows = Sequence[str]


class Cell(NamedTuple):
    """One cell: its corner, who stands on it (-1: nobody) and how that piece is drawn."""

    x: float
    y: float
    seat: int
    glyph: str
    is_new: bool
    is_dark: bool

    @property
    def centre(self) -> tuple[float, float]:
        """Return where its piece stands."""
        return self.x + CELL / 2, self.y + CELL / 2


class Label(NamedTuple):
    """The name of a row or column."""

    x: float
    y: float
    text: str


class Board(NamedTuple):
    """A position, ready to be drawn; look is stones, marks or pieces."""

    width: float
    height: float
    cells: list[Cell]
    labels: list[Label]
    look: str
    is_hex: bool
    sides: tuple[str, str]


@dataclass(frozen=True)
class Kind:
    """How the text of a game is read and drawn; sides name what seats 0 and 1 play."""

    read: Callable[[str], Rows]
    sides: tuple[str, str]
    look: str = "marks"
    columns: str = _LETTERS
    # Rows count down from 1 (down), up from 1 (up), or from 0 (zero).
    numbers: str = "down"
    has_moving_pieces: bool = False
    is_hex: bool = False


def draw_position(game: str, text: str, before: str | None = None) -> Board | None:
    """Return the position to be drawn, None for a game that is shown as text.

    before: the text one move earlier; what is new since is marked.
    """
    kind = KINDS.get(game)
    if kind is None:
        return None
    rows = kind.read(text)
    # Rows of hexagons lie closer together, each half a cell further to the right.
    down, shift = (HEX_HEIGHT, CELL / 2) if kind.is_hex else (CELL, 0)
    n_below = len(rows) - 1
    return Board(
        width=CELL * len(rows[0]) + shift * n_below + 2 * EDGE,
        height=down * n_below + CELL + 2 * EDGE,
        cells=_draw_cells(rows, None if before is None else kind.read(before), kind, down, shift),
        labels=_draw_labels(rows, kind, down, shift),
        look=kind.look,
        is_hex=kind.is_hex,
        sides=kind.sides,
    )


def _draw_cells(
    rows: Rows, before: Rows | None, kind: Kind, down: float, shift: float
) -> list[Cell]:
    cells = []
    has_pieces = kind.look == "pieces"
    seat_of = str.isupper if has_pieces else "xo".index
    for row, line in enumerate(rows):
        for column, symbol in enumerate(line):
            old = symbol if before is None else before[row][column]
            # Where pieces stay, a changed cell may be one turned over, which nobody played.
            is_new = old != symbol and (kind.has_moving_pieces or old == EMPTY)
            cells.append(
                Cell(
                    x=EDGE + CELL * column + shift * row,
                    y=EDGE + down * row,
                    seat=-1 if symbol == EMPTY else int(seat_of(symbol)),
                    glyph=_PIECES.get(symbol.lower(), "") + _TEXT_FORM if has_pieces else "",
                    is_new=is_new,
                    is_dark=(row + column) % 2 == 1,
                )
            )
    return cells


def _draw_labels(rows: Rows, kind: Kind, down: float, shift: float) -> list[Label]:
    n_below = len(rows) - 1
    bottom = EDGE + down * n_below + CELL + EDGE / 2
    across = [
        Label(EDGE + CELL * (n + 1 / 2) + shift * n_below, bottom, kind.columns[n])
        for n in range(len(rows[0]))
    ]
    first = 0 if kind.numbers == "zero" else 1
    numbers = list(range(first, first + len(rows)))
    if kind.numbers == "up":
        numbers.reverse()
    names = [
        Label(EDGE / 2 + shift * n, EDGE + down * n + CELL / 2, str(number))
        for n, number in enumerate(numbers)
    ]
    return across + names


def _read_lines(text: str) -> Rows:
    return [line for line in text.splitlines() if line]


def _read_numbered(text: str) -> list[str]:
    """Return the lines that begin with the number of a row."""
    return [line.strip() for line in text.splitlines() if line.strip()[:1].isdigit()]


_DIGITS = "0123456789"
_BLACK_WHITE = ("black", "white")
# The engine writes groups that touch an edge, or win, with letters of their own.
_HEX = str.maketrans("yzXpqO", "xxxooo")

KINDS = {
    "tic_tac_toe": Kind(_read_lines, ("x", "o"), columns=_DIGITS, numbers="zero"),
    "connect_four": Kind(_read_lines, ("x", "o"), columns=_DIGITS, numbers="zero"),
    "othello": Kind(
        lambda text: [
            "".join(line.split()[1:-1]).replace("-", EMPTY) for line in _read_numbered(text)
        ],
        _BLACK_WHITE,
        look="stones",
    ),
    "breakthrough": Kind(
        lambda text: [
            line[1:].replace("b", "x").replace("w", "o") for line in _read_numbered(text)
        ],
        _BLACK_WHITE,
        look="stones",
        numbers="up",
        has_moving_pieces=True,
    ),
    "hex": Kind(
        lambda text: ["".join(line.split()).translate(_HEX) for line in _read_lines(text)],
        ("x, top to bottom", "o, left to right"),
        is_hex=True,
    ),
    # Forsyth-Edwards notation: a digit stands for so many empty cells.
    "chess": Kind(
        lambda text: re.sub(r"\d", lambda n: EMPTY * int(n[0]), text.split()[0]).split("/"),
        _BLACK_WHITE,
        look="pieces",
        numbers="up",
        has_moving_pieces=True,
    ),
    # The letter I is left out, as on every board of Go.
    "go_9x9": Kind(
        lambda text: [line.split()[1].lower().replace("+", EMPTY) for line in _read_numbered(text)],
        _BLACK_WHITE,
        look="stones",
        columns="ABCDEFGHJ",
        numbers="up",
    ),
}
