"""Tic-tac-toe: three in a row on 3 x 3."""

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import CROSS, RING, Grid, Side
from arena.games.rows import mark_winners, read_cells

SIDES = (Side("x", "blue", CROSS), Side("o", "red", RING))
ROWS = ("3", "2", "1")


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the nine cells; three in a row are marked. Nothing is hidden from a seat."""
    del seat
    cells = read_cells(str(native).splitlines(), "xo")
    return Grid(mark_winners(cells, 3), "abc", ROWS, SIDES)


def name_action(native: NativeState, seat: int, action: int) -> str:
    """Return the cell, as it is labelled."""
    del native, seat
    return f"{'abc'[action % 3]}{ROWS[action // 3]}"


GAME = OpenSpielGame(
    "tic_tac_toe",
    title="Tic-tac-toe",
    opening_plies=2,
    look=Look(draw_position, name_action=name_action),
    observation_parts=parts("empty cells", "rings (seat 1)", "crosses (seat 0)"),
    observation_note="The same for both seats; row 0 is 3, column 0 is a.",
)
