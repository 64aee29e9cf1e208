"""Breakthrough: the first pawn on the last of 8 x 8 ranks wins."""

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import Grid, Side
from arena.games.rows import read_cells, shade_checkered

SIDES = (Side("black", "black"), Side("white", "white"))
ROWS = ("8", "7", "6", "5", "4", "3", "2", "1")


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the board; black comes from above."""
    del seat
    rows = [line[1:] for line in str(native).splitlines() if line[:1].isdigit()]
    cells = shade_checkered(read_cells(rows, "bw"))
    return Grid(cells, "abcdefgh", ROWS, SIDES, has_moving_pieces=True)


GAME = OpenSpielGame(
    "breakthrough",
    title="Breakthrough",
    opening_plies=4,
    look=Look(draw_position),
    observation_parts=parts("pieces of seat 0", "pieces of seat 1", "empty cells"),
    observation_note="The same for both seats; row 0 is 8, column 0 is a.",
)
