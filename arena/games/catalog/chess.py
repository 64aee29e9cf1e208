"""Chess with draws by repetition and by the rule of 50 moves."""

from functools import lru_cache

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import NativeState, OpenSpielGame
from arena.games.pictures import Cell, Grid, Side
from arena.games.rows import shade_checkered

# The engine gives the first move to its player 1, so that seat 1 is white.
SIDES = (Side("black", "black"), Side("white", "white"))
ROWS = ("8", "7", "6", "5", "4", "3", "2", "1")
NAMES = ("king", "queen", "rook", "bishop", "knight", "pawn")
# The mark of text: else some systems draw a pawn as a coloured picture.
PIECES = {
    letter: (f"{glyph}\ufe0e", name)
    for letter, glyph, name in zip("kqrbnp", "♚♛♜♝♞♟", NAMES, strict=True)
}


def draw_position(native: NativeState, seat: int | None) -> Grid:
    """Return the board as its Forsyth-Edwards notation has it."""
    del seat
    rows = (_read_rank(rank) for rank in str(native).split()[0].split("/"))
    return Grid(shade_checkered(tuple(rows)), "abcdefgh", ROWS, SIDES, has_moving_pieces=True)


# From one frame of a replay to the next, most ranks stay as they are.
@lru_cache(maxsize=1024)
def _read_rank(rank: str) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for letter in rank:
        if letter.isdigit():
            cells += [Cell()] * int(letter)
        else:
            glyph, name = PIECES[letter.lower()]
            seat = int(letter.isupper())
            cells.append(Cell(seat, glyph, name=f"{SIDES[seat].name} {name}"))
    return tuple(cells)


# The engine's bound stays (17,695 plies, what the rule of 50 moves allows): a lower one would let
# a losing seat drag a legal match into a fault of the platform.
GAME = OpenSpielGame(
    "chess",
    title="Chess",
    opening_plies=4,
    look=Look(draw_position),
    observation_parts=parts(
        *(f"{side} {piece}" for piece in NAMES for side in ("white", "black")),
        "empty squares",
        "how often the position was there before, over 2",
        "1 everywhere while white is to move",
        "moves since the last capture or pawn move, over 101",
        "white may castle to the a side",
        "white may castle to the h side",
        "black may castle to the a side",
        "black may castle to the h side",
    ),
    observation_note=(
        "The same for both seats, white is seat 1; row 0 is rank 1, column 0 is file a."
    ),
)
