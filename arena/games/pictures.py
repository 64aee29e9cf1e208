"""What a game may draw of a position: a grid of cells, or shapes with sizes.

A game says what stands where in words of this file; the page alone makes SVG of it, so that no file
of a game can put markup of its own into a page.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final, NamedTuple

from arena.errors import PictureError
from arena.games.base import Game

TINTS: Final = frozenset(
    (
        *("black", "white", "red", "blue", "yellow", "green", "ink", "muted", "line", "paper"),
        *("light", "dark", "wood", "grain", "felt", "card", "heart", "back", "new", "win"),
    )
)
"""The colours there are; each is another one in the dark."""
MAX_SHAPES = 3_000
MAX_POINTS = 100
MAX_SIZE = 10_000
MAX_TEXT = 80
SEAT_TINTS: Final = ("blue", "yellow", "green", "red")
"""The colours of seats that have no pieces of their own."""
DISC, RING, CROSS = "disc", "ring", "cross"
SQUARES, POINTS, HEXES = "squares", "points", "hexes"

_CELL, _HEX_HEIGHT = 10.0, 8.66
_LEAST_LABEL, _LABEL_SHARE, _EDGE_OF_LABEL = 3.6, 0.037, 1.66
"""Height of labels: a share of the board, so that a phone shows those of a large one, too."""
_HEX = ((5.0, -0.77), (10.0, 2.11), (10.0, 7.89), (5.0, 10.77), (0.0, 7.89), (0.0, 2.11))


class Rect(NamedTuple):
    """A rectangle by its upper left corner; corner: the radius of its corners."""

    x: float
    y: float
    width: float
    height: float
    tint: str
    corner: float = 0


class Circle(NamedTuple):
    """A disc, or with a width the outline of one."""

    x: float
    y: float
    radius: float
    tint: str
    width: float = 0


class Line(NamedTuple):
    """A line from one point to another."""

    x: float
    y: float
    to_x: float
    to_y: float
    tint: str
    width: float = 0.3


class Text(NamedTuple):
    """Words around a point, in letters of this height."""

    x: float
    y: float
    text: str
    size: float
    tint: str = "ink"


def label_cell(corner: tuple[float, float], text: str) -> Text:
    """Return a word at the foot of the cell with this upper left corner, for any colour."""
    x, y = corner
    return Text(x + _CELL / 2, y + 0.8 * _CELL, text, 0.25 * _CELL, "white")


class Polygon(NamedTuple):
    """A filled outline."""

    points: tuple[tuple[float, float], ...]
    tint: str


Shape = Rect | Circle | Line | Text | Polygon


class Side(NamedTuple):
    """What a seat plays, and the piece that stands for it beside its name."""

    name: str
    tint: str
    piece: str = DISC


class Cell(NamedTuple):
    """One cell: who stands on it (-1: nobody), drawn as a disc, ring, cross or character.

    shade: a tint of the cell itself. name: what the piece is called, by default as its side is.
    """

    seat: int = -1
    piece: str = ""
    shade: str = ""
    name: str = ""
    is_winning: bool = False


EMPTY = Cell()


class Picture(NamedTuple):
    """Shapes on a canvas, the first ones below; sides: what each seat plays, for the legend."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    sides: tuple[Side, ...] = ()


class Grid(NamedTuple):
    """Rows of cells with the names of columns and rows.

    form: cells are squares, hexes, or crossings of lines (points). has_moving_pieces: what has
    changed is marked where a piece left, too, and where it took another one. extra: shapes over the
    ground and under the pieces.
    """

    rows: tuple[tuple[Cell, ...], ...]
    columns: str
    numbers: tuple[str, ...]
    sides: tuple[Side, ...] = ()
    form: str = SQUARES
    has_moving_pieces: bool = False
    extra: tuple[Shape, ...] = ()

    def name_cell(self, row: int, column: int) -> str:
        """Return the name of a cell."""
        return f"{self.columns[column]}{self.numbers[row]}"

    def list_pieces(self) -> str:
        """Return where which pieces stand, a sentence for each kind of piece."""
        standing = sorted(
            (cell.seat, cell.name or self.sides[cell.seat].name, column, row)
            for row, line in enumerate(self.rows)
            for column, cell in enumerate(line)
            if cell.seat >= 0
        )
        kinds = groupby(standing, key=lambda piece: piece[:2])
        return " ".join(
            f"{name.capitalize()}: {', '.join(self.name_cell(row, at) for *_, at, row in kind)}."
            for (_, name), kind in kinds
        )

    def draw_cells(self, before: "Grid | None" = None) -> Picture:
        """Return the grid as shapes; what is new since the grid before is marked."""
        cells = [
            (row, column, cell)
            for row, line in enumerate(self.rows)
            for column, cell in enumerate(line)
        ]
        # The ground comes first and is the same in every frame of a game, which is sent once.
        shades = tuple(tuple(cell.shade for cell in line) for line in self.rows)
        shapes = list(_draw_ground(shades, self.columns, self.numbers, self.form))
        shapes += self.extra
        for row, column, cell in cells:
            is_new = before is not None and self._is_new(before.rows[row][column], cell)
            if is_new or cell.is_winning:
                shapes.append(
                    self._layout.draw_cell(row, column, "win" if cell.is_winning else "new")
                )
        shapes += [
            shape for row, column, cell in cells for shape in self._draw_piece(row, column, cell)
        ]
        return Picture(*self._layout.size, tuple(shapes), self.sides)

    def find_corner(self, row: int, column: int) -> tuple[float, float]:
        """Return the upper left corner of a cell in the drawing."""
        return self._layout.find_corner(row, column)

    @property
    def _layout(self) -> "_Layout":
        return _Layout(self.form, len(self.rows), len(self.rows[0]))

    def _is_new(self, old: Cell, new: Cell) -> bool:
        if self.has_moving_pieces:
            return old[:2] != new[:2]
        return old.seat < 0 <= new.seat

    def _draw_piece(self, row: int, column: int, cell: Cell) -> Sequence[Shape]:
        if cell.seat < 0:
            return ()
        side = self.sides[cell.seat]
        return draw_piece(
            *self._layout.find_centre(row, column), cell.piece or side.piece, side.tint
        )


class _Layout(NamedTuple):
    """Where the cells of a board stand, and the room around them for the labels."""

    form: str
    n_rows: int
    n_columns: int

    @property
    def _inner_width(self) -> float:
        lean = (self.n_rows - 1) * _CELL / 2 if self.form == HEXES else 0
        return _CELL * self.n_columns + lean

    @property
    def label_height(self) -> float:
        return max(_LEAST_LABEL, _LABEL_SHARE * self._inner_width)

    @property
    def edge(self) -> float:
        return _EDGE_OF_LABEL * self.label_height

    @property
    def _row_step(self) -> float:
        return _HEX_HEIGHT if self.form == HEXES else _CELL

    @property
    def size(self) -> tuple[float, float]:
        height = self._row_step * (self.n_rows - 1) + _CELL
        return self._inner_width + 2 * self.edge, height + 2 * self.edge

    def find_corner(self, row: int, column: int) -> tuple[float, float]:
        lean = row * _CELL / 2 if self.form == HEXES else 0
        return self.edge + _CELL * column + lean, self.edge + self._row_step * row

    def find_centre(self, row: int, column: int) -> tuple[float, float]:
        x, y = self.find_corner(row, column)
        return x + _CELL / 2, y + _CELL / 2

    def draw_cell(self, row: int, column: int, tint: str) -> Shape:
        x, y = self.find_corner(row, column)
        if self.form == HEXES:
            return Polygon(tuple((x + dx, y + dy) for dx, dy in _HEX), tint)
        return Rect(x, y, _CELL, _CELL, tint)


@lru_cache(maxsize=32)
def _draw_ground(
    shades: tuple[tuple[str, ...], ...], columns: str, numbers: tuple[str, ...], form: str
) -> tuple[Shape, ...]:
    """Return empty cells and their labels; kept, as all positions of a game have the same."""
    layout = _Layout(form, len(shades), len(shades[0]))
    last, margin = layout.n_rows - 1, layout.edge / 2
    if form == POINTS:
        shapes = _draw_crossings(shades, layout)
    else:
        shapes = [
            layout.draw_cell(row, column, shade or "paper")
            for row, line in enumerate(shades)
            for column, shade in enumerate(line)
        ]
    for n, name in enumerate(columns[: layout.n_columns]):
        y = layout.size[1] - margin
        shapes.append(Text(layout.find_centre(last, n)[0], y, name, layout.label_height, "muted"))
    for n, name in enumerate(numbers):
        x, y = layout.find_corner(n, 0)[0] - margin, layout.find_centre(n, 0)[1]
        shapes.append(Text(x, y, name, layout.label_height, "muted"))
    return tuple(shapes)


def _draw_crossings(shades: tuple[tuple[str, ...], ...], layout: _Layout) -> list[Shape]:
    n_rows, n_columns, find_centre = layout.n_rows, layout.n_columns, layout.find_centre
    across = [(find_centre(row, 0), find_centre(row, n_columns - 1)) for row in range(n_rows)]
    down = [(find_centre(0, n), find_centre(n_rows - 1, n)) for n in range(n_columns)]
    dots = [
        Circle(*find_centre(row, column), 0.9, "grain")
        for row, line in enumerate(shades)
        for column, shade in enumerate(line)
        if shade == "dark"
    ]
    board = Rect(layout.edge, layout.edge, _CELL * n_columns, _CELL * n_rows, "wood", 1)
    return [board, *(Line(*start, *end, "grain") for start, end in (*across, *down)), *dots]


def draw_piece(x: float, y: float, piece: str, tint: str) -> Sequence[Shape]:
    """Return a disc, ring, cross or character around a point of a cell of 10 by 10."""
    if piece == DISC:
        return (Circle(x, y, 3.8, tint),)
    if piece == RING:
        return (Circle(x, y, 3.0, tint, 1.8),)
    if piece == CROSS:
        return (
            Line(x - 2.7, y - 2.7, x + 2.7, y + 2.7, tint, 1.8),
            Line(x - 2.7, y + 2.7, x + 2.7, y - 2.7, tint, 1.8),
        )
    return (Text(x, y, piece, 8.6, tint),)


def list_sides(game: Game) -> tuple[Side, ...]:
    """Return what each seat plays, none where the seats have no names.

    A game that does not say so in its `sides` is started and asked to draw its first position.
    """
    declared: tuple[Side, ...] | None = getattr(game, "sides", None)
    draw: Callable[..., Grid | Picture | None] | None = getattr(game, "picture", None)
    if declared is not None or draw is None:
        return declared or ()
    picture = draw(game.start(0, opening_plies=0), None)
    return picture.sides if picture else ()


def check_picture(picture: object) -> Picture:
    """Return a picture that can be shown. Raises PictureError, which says what is wrong."""
    if not isinstance(picture, Picture):
        raise PictureError(f"picture() must return a Picture or a Grid, got {picture!r:.80}")
    for size in (picture.width, picture.height):
        _check_number(size)
        if not 0 < size <= MAX_SIZE:
            raise PictureError(f"a picture is 0 to {MAX_SIZE} wide and high, not {size}")
    if len(picture.shapes) > MAX_SHAPES:
        raise PictureError(f"{len(picture.shapes):,} shapes are more than {MAX_SHAPES:,}")
    pieces = (shape for side in picture.sides for shape in draw_piece(0, 0, side.piece, side.tint))
    for shape in (*picture.shapes, *pieces):
        try:
            _check_shape(shape)
        except TypeError:  # it has a list of points, or is no shape
            _check_shape.__wrapped__(shape)
    return picture


# Most shapes of a replay stand in every picture of it. Typed: a line may equal a text.
@lru_cache(maxsize=8_192, typed=True)
def _check_shape(shape: object) -> None:
    if not isinstance(shape, Shape):
        raise PictureError(f"{shape!r:.80} is no shape")
    if shape.tint not in TINTS:
        raise PictureError(f"there is no tint {shape.tint!r:.20}: use {', '.join(sorted(TINTS))}")
    if isinstance(shape, Polygon):
        if len(shape.points) > MAX_POINTS:
            raise PictureError(f"{len(shape.points):,} points are more than {MAX_POINTS}")
        numbers: list[object] = [number for point in shape.points for number in point]
    else:
        fields = zip(shape._fields, shape, strict=True)
        numbers = [value for name, value in fields if name not in ("tint", "text")]
    for number in numbers:
        _check_number(number)
    if isinstance(shape, Text) and not (
        isinstance(shape.text, str) and len(shape.text) <= MAX_TEXT
    ):
        raise PictureError(f"a text has {MAX_TEXT} characters at most: {shape.text!r:.80}")


def _check_number(number: object) -> None:
    # No NaN is at most anything
    if not (isinstance(number, (int, float)) and -MAX_SIZE <= number <= MAX_SIZE):
        raise PictureError(f"{number!r:.40} is no size or place of a picture")
