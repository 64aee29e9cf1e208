"""Cells read from the rows that an engine prints, and lines of equal pieces in them."""

from collections.abc import Iterable
from functools import cache, lru_cache

from arena.games.pictures import EMPTY, Cell

SHADES = (("light", "dark"), ("dark", "light"))

Cells = tuple[tuple[Cell, ...], ...]
Line = tuple[tuple[int, int], ...]


def read_cells(rows: Iterable[str], pieces: str) -> Cells:
    """Return a cell for each character; pieces: the character of each seat, seat 0 first."""
    kinds = {piece: Cell(seat) for seat, piece in enumerate(pieces)}
    return tuple(tuple(kinds.get(piece, EMPTY) for piece in row) for row in rows if row)


def shade_checkered(cells: Cells) -> Cells:
    """Return the cells of a board in two shades, the upper left one light."""
    return tuple(_shade_row(line, SHADES[row % 2]) for row, line in enumerate(cells))


# From one frame of a replay to the next, most rows stay as they are.
@lru_cache(maxsize=1024)
def _shade_row(line: tuple[Cell, ...], shades: tuple[str, str]) -> tuple[Cell, ...]:
    return tuple(cell._replace(shade=shades[column % 2]) for column, cell in enumerate(line))


def mark_winners(cells: Cells, length: int) -> Cells:
    """Return the cells with the lines of so many pieces of one seat marked."""
    lines = _list_lines(len(cells), len(cells[0]), length)
    winning = {place for line in lines for place in line if _is_won(cells, line)}
    return mark_places(cells, winning)


def mark_places(cells: Cells, winning: Iterable[tuple[int, int]]) -> Cells:
    """Return the cells with those at (row, column) marked as winning."""
    places = set(winning)
    if not places:
        return cells
    return tuple(
        tuple(
            cell._replace(is_winning=True) if (row, column) in places else cell
            for column, cell in enumerate(line)
        )
        for row, line in enumerate(cells)
    )


@cache
def _list_lines(n_rows: int, n_columns: int, length: int) -> list[Line]:
    """Return the places of every line of that length on a board."""
    lines = [
        tuple((row + n * down, column + n * right) for n in range(length))
        for row in range(n_rows)
        for column in range(n_columns)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    ]
    return [line for line in lines if line[-1][0] < n_rows and 0 <= line[-1][1] < n_columns]


def _is_won(cells: Cells, line: Line) -> bool:
    first = cells[line[0][0]][line[0][1]].seat
    return first >= 0 and all(cells[row][column].seat == first for row, column in line)
