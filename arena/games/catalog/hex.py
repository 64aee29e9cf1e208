"""Hex: the first chain between one's own two sides wins; no draws."""

from collections import deque

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import HEXES, RING, Grid, Line, Side
from arena.games.rows import Cells, mark_places, read_cells
from arena.parameters import Parameter

SIDES = (Side("red (top to bottom)", "red"), Side("blue (left to right)", "blue", RING))
NEIGHBOURS = ((0, 1), (0, -1), (1, 0), (-1, 0), (-1, 1), (1, -1))
# The engine prints chains that touch a side with letters of their own.
LETTERS = str.maketrans("yzXpqO", "xxxooo")


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the rhombus of cells; the chain that has won is marked."""
    del seat
    lines = str(native).splitlines()
    cells = read_cells(("".join(line.split()).translate(LETTERS) for line in lines), "xo")
    chain = find_chain(cells, 0) or find_chain(cells, 1)
    numbers = tuple(str(n + 1) for n in range(len(cells)))
    grid = Grid(mark_places(cells, chain), "abcdefghijklmnopqrs", numbers, SIDES, form=HEXES)
    return grid._replace(extra=_draw_sides(grid))


def find_chain(cells: Cells, seat: int) -> list[tuple[int, int]]:
    """Return a shortest chain between the two sides of a seat, empty without one."""
    last = len(cells) - 1
    starts = [(0, n) if seat == 0 else (n, 0) for n in range(last + 1)]
    ways = deque([place] for place in starts if cells[place[0]][place[1]].seat == seat)
    reached = {path[0] for path in ways}
    while ways:
        path = ways.popleft()
        row, column = path[-1]
        if (row, column)[seat] == last:
            return path
        for down, right in NEIGHBOURS:
            at = (row + down, column + right)
            if at in reached or not (0 <= at[0] <= last and 0 <= at[1] <= last):
                continue
            if cells[at[0]][at[1]].seat == seat:
                reached.add(at)
                ways.append([*path, at])
    return []


def _draw_sides(grid: Grid) -> tuple[Line, ...]:
    """Return the edges of the board in the colours of those who connect them."""
    last = len(grid.rows) - 1
    lines = []
    for n in range(last + 1):
        top, bottom = grid.find_corner(0, n), grid.find_corner(last, n)
        left, right = grid.find_corner(n, 0), grid.find_corner(n, last)
        lines += [
            _make_edge(top, (0, 2.11), (5, -0.77), "red"),
            _make_edge(top, (5, -0.77), (10, 2.11), "red"),
        ]
        lines += [_make_edge(bottom, (0, 7.89), (5, 10.77), "red")]
        lines += [_make_edge(bottom, (5, 10.77), (10, 7.89), "red")]
        lines += [
            _make_edge(left, (0, 2.11), (0, 7.89), "blue"),
            _make_edge(left, (0, 7.89), (5, 10.77), "blue"),
        ]
        lines += [_make_edge(right, (10, 2.11), (10, 7.89), "blue")]
        lines += [_make_edge(right, (5, -0.77), (10, 2.11), "blue")]
    return tuple(lines)


def _make_edge(
    corner: tuple[float, float], start: tuple[float, float], end: tuple[float, float], tint: str
) -> Line:
    x, y = corner
    return Line(x + start[0], y + start[1], x + end[0], y + end[1], tint, 1.2)


GAME = OpenSpielGame(
    "hex",
    title="Hex",
    opening_plies=2,
    parameters=(Parameter("board_size", 11, "cells along each side", 3, 19),),
    look=Look(draw_position),
    observation_parts=parts(
        "seat 1 has won with",
        "joined to the west (seat 1)",
        "joined to the east (seat 1)",
        "other stones of seat 1",
        "empty cells",
        "other stones of seat 0",
        "joined to the south (seat 0)",
        "joined to the north (seat 0)",
        "seat 0 has won with",
    ),
    observation_note="The same for both seats; row 0 is 1, column 0 is a.",
)
