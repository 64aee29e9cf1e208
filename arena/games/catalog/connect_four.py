"""Connect Four: four in a row on 7 columns of 6."""

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import RING, Grid, Side
from arena.games.rows import mark_winners, read_cells

SIDES = (Side("yellow", "yellow"), Side("red", "red", RING))
ROWS = ("6", "5", "4", "3", "2", "1")


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the columns with what was dropped into them; four in a row are marked."""
    del seat
    cells = read_cells(str(native).splitlines(), "xo")
    return Grid(mark_winners(cells, 4), "abcdefg", ROWS, SIDES)


def name_action(native: NativeState, seat: int, action: int) -> str:
    """Return the column."""
    del native, seat
    return f"column {'abcdefg'[action]}"


GAME = OpenSpielGame(
    "connect_four",
    title="Connect Four",
    opening_plies=4,
    look=Look(draw_position, name_action=name_action),
    observation_parts=parts("discs of seat 0", "discs of seat 1", "empty cells"),
    observation_note="The same for both seats; row 0 is the lowest, column 0 is a.",
)
