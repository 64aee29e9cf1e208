"""Go on 9 x 9 under Tromp-Taylor rules, komi 7.5; it ends after 162 plies at the latest."""

from collections.abc import Mapping

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import EMPTY, POINTS, Grid, Side
from arena.games.rows import read_cells

SIDES = (Side("black", "black"), Side("white", "white"))
COLUMNS = "ABCDEFGHJ"  # without I, as go boards are labelled
ROWS = ("9", "8", "7", "6", "5", "4", "3", "2", "1")
KOMI = 7.5
STARS = {(2, 2), (2, 6), (4, 4), (6, 2), (6, 6)}


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the crossings with their stones."""
    del seat
    rows = [line.split()[1] for line in str(native).splitlines() if line.strip()[:1].isdigit()]
    cells = tuple(
        tuple(
            cell._replace(shade="dark" if (row, column) in STARS else "")
            for column, cell in enumerate(line)
        )
        for row, line in enumerate(read_cells(rows, "XO"))
    )
    return Grid(cells, COLUMNS, ROWS, SIDES, form=POINTS)


def count_areas(native: NativeState) -> tuple[int, int]:
    """Return the points of black and white by area, without komi: stones and what only they reach.

    Source: Tromp-Taylor rules, 9 and 10; no stone is dead.
    """
    stones = {
        (row, column): cell.seat
        for row, line in enumerate(draw_position(native, None).rows)
        for column, cell in enumerate(line)
    }
    black, white = (_find_reached(stones, seat) for seat in (0, 1))
    return len(black - white), len(white - black)


def _find_reached(stones: Mapping[tuple[int, int], int], seat: int) -> set[tuple[int, int]]:
    """Return the stones of a seat and every empty crossing that is linked to one of them."""
    reached = {place for place, owner in stones.items() if owner == seat}
    waiting = list(reached)
    while waiting:
        row, column = waiting.pop()
        near = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
        linked = {place for place in near - reached if stones.get(place) == EMPTY.seat}
        reached |= linked
        waiting += linked
    return reached


def describe_position(native: NativeState, seat: int | None) -> str:
    """Return the stones, and at the end the points."""
    words = draw_position(native, seat).list_pieces()
    if not native.is_terminal():
        return words
    black, white = count_areas(native)
    return f"By area black has {black} points, white {white + KOMI} with komi {KOMI}. {words}"


def name_action(native: NativeState, seat: int, action: int) -> str:
    """Return the crossing, or that the seat passes."""
    name = native.action_to_string(seat, action).split()[-1]
    return "pass" if name == "PASS" else name.upper()


GAME = OpenSpielGame(
    "go_9x9",
    engine_name="go",
    fixed={"board_size": 9},
    title="Go 9 x 9",
    opening_plies=4,
    look=Look(draw_position, describe_position, name_action),
    observation_parts=parts(
        "black stones (seat 0)",
        "white stones (seat 1)",
        "empty crossings",
        "1 everywhere while white is to move",
    ),
    observation_note="The same for both seats; row 0 is 1, column 0 is A.",
)
