"""Boards to be drawn: cells and pieces read from the text of an engine's state.

One entry of KINDS per game; a game without one is shown as its text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CELL = 10
"""Width of a cell in the drawing's own units."""
EDGE = 6
"""Around the cells, for the labels."""
HEX_HEIGHT = 8.66
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
    numbers: str = "down"
    """Rows count down from 1 (down), up from 1 (up), or from 0 (zero)."""
    has_moving_pieces: bool = False
    is_hex: bool = False


def board(game: str, text: str, before: str | None = None) -> Board | None:
    """Return the position to be drawn, None for a game that is shown as text.

    before: the text one move earlier; what is new since is marked.
    """
    kind = KINDS.get(game)
    if kind is None:
        return None
    rows = kind.read(text)
    return Board(
        width=_width(rows, kind),
        height=_down(kind) * (len(rows) - 1) + CELL + 2 * EDGE,
        cells=_cells(rows, None if before is None else kind.read(before), kind),
        labels=_labels(rows, kind),
        look=kind.look,
        is_hex=kind.is_hex,
        sides=kind.sides,
    )


def _cells(rows: Rows, before: Rows | None, kind: Kind) -> list[Cell]:
    return [
        Cell(
            x=EDGE + CELL * column + _shift(row, kind),
            y=EDGE + _down(kind) * row,
            seat=_seat(symbol, kind),
            glyph=_glyph(symbol, kind),
            is_new=before is not None and _is_new(before[row][column], symbol, kind),
            is_dark=(row + column) % 2 == 1,
        )
        for row, line in enumerate(rows)
        for column, symbol in enumerate(line)
    ]


def _is_new(old: str, new: str, kind: Kind) -> bool:
    return old != new and (kind.has_moving_pieces or old == EMPTY)


def _seat(symbol: str, kind: Kind) -> int:
    if symbol == EMPTY:
        return -1
    if kind.look == "pieces":
        return int(symbol.isupper())
    return "xo".index(symbol)


def _glyph(symbol: str, kind: Kind) -> str:
    return _PIECES.get(symbol.lower(), "") + _TEXT_FORM if kind.look == "pieces" else ""


def _labels(rows: Rows, kind: Kind) -> list[Label]:
    bottom = EDGE + _down(kind) * (len(rows) - 1) + CELL + EDGE / 2
    across = [
        Label(EDGE + CELL * (n + 1 / 2) + _shift(len(rows) - 1, kind), bottom, kind.columns[n])
        for n in range(len(rows[0]))
    ]
    down = [
        Label(EDGE / 2 + _shift(n, kind), EDGE + _down(kind) * n + CELL / 2, text)
        for n, text in enumerate(_row_names(len(rows), kind))
    ]
    return across + down


def _row_names(n_rows: int, kind: Kind) -> list[str]:
    names = [str(n) for n in range(n_rows)] if kind.numbers == "zero" else _from_one(n_rows)
    return names[::-1] if kind.numbers == "up" else names


def _from_one(n_rows: int) -> list[str]:
    return [str(n + 1) for n in range(n_rows)]


def _width(rows: Rows, kind: Kind) -> float:
    return CELL * len(rows[0]) + _shift(len(rows) - 1, kind) + 2 * EDGE


def _shift(row: int, kind: Kind) -> float:
    return row * CELL / 2 if kind.is_hex else 0


def _down(kind: Kind) -> float:
    return HEX_HEIGHT if kind.is_hex else CELL


def _lines(text: str) -> Rows:
    return [line for line in text.splitlines() if line]


def _numbered(text: str) -> list[str]:
    """Return the lines that begin with the number of a row."""
    return [line.strip() for line in text.splitlines() if line.strip()[:1].isdigit()]


def _othello(text: str) -> Rows:
    return ["".join(line.split()[1:-1]).replace("-", EMPTY) for line in _numbered(text)]


def _breakthrough(text: str) -> Rows:
    return [line[1:].replace("b", "x").replace("w", "o") for line in _numbered(text)]


def _go(text: str) -> Rows:
    return [line.split()[1].lower().replace("+", EMPTY) for line in _numbered(text)]


# The engine writes groups that touch an edge, or win, with letters of their own.
_HEX = str.maketrans("yzXpqO", "xxxooo")


def _hex(text: str) -> Rows:
    return ["".join(line.split()).translate(_HEX) for line in _lines(text)]


def _chess(text: str) -> Rows:
    """Return the rows of a position in Forsyth-Edwards notation."""
    rows = text.split()[0].split("/")
    return ["".join(EMPTY * int(c) if c.isdigit() else c for c in row) for row in rows]


_DIGITS = "0123456789"
_BLACK_WHITE = ("black", "white")

KINDS = {
    "tic_tac_toe": Kind(_lines, ("x", "o"), columns=_DIGITS, numbers="zero"),
    "connect_four": Kind(_lines, ("x", "o"), columns=_DIGITS, numbers="zero"),
    "othello": Kind(_othello, _BLACK_WHITE, look="stones"),
    "breakthrough": Kind(
        _breakthrough, _BLACK_WHITE, look="stones", numbers="up", has_moving_pieces=True
    ),
    "hex": Kind(_hex, ("x, top to bottom", "o, left to right"), is_hex=True),
    "chess": Kind(_chess, _BLACK_WHITE, look="pieces", numbers="up", has_moving_pieces=True),
    "go_9x9": Kind(_go, _BLACK_WHITE, look="stones", columns="ABCDEFGHJ", numbers="up"),
}
