"""Othello (Reversi) on 8 x 8; a seat that cannot move passes by an action."""

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import Grid, Side
from arena.games.rows import read_cells

SIDES = (Side("black", "black"), Side("white", "white"))
ROWS = ("1", "2", "3", "4", "5", "6", "7", "8")


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the board; its first row is the upper one."""
    del seat
    rows = [line.split() for line in str(native).splitlines() if line[:1].isdigit()]
    cells = read_cells(("".join(row[1:-1]) for row in rows), "xo")
    felt = tuple(tuple(cell._replace(shade="felt") for cell in row) for row in cells)
    return Grid(felt, "abcdefgh", ROWS, SIDES)


GAME = OpenSpielGame(
    "othello",
    title="Othello",
    opening_plies=4,
    look=Look(draw_position),
    observation_parts=parts(
        "empty cells", "discs of the seat that looks", "discs of the other seat"
    ),
    observation_note="As the seat sees it; row 0 is 1, column 0 is a.",
)
