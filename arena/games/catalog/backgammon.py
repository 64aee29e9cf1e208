"""Backgammon: a game of dice; one action moves both dice; a draw after 500 turns."""

import re
from typing import Any, Final

from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.openspiel import OpenSpielGame
from arena.games.pictures import Circle, Picture, Polygon, Rect, Shape, Side, Text, draw_piece

SIDES: Final = (Side("white", "white"), Side("black", "black"))
_LEGEND: Final = (
    Side("white, points by the inner numbers", "white"),
    Side("black, points by the outer numbers", "black"),
)
N_POINTS: Final = 24
HALF: Final = 12
"""Points of one long side of the board; the bar stands in its middle."""
BAR: Final = 100
"""Where the engine keeps the pieces that were hit."""
SHOWN: Final = 5
"""Pieces of a point that are drawn; of more, a number says how many there are."""
_STEP, _EDGE, _MIDDLE, _HEIGHT, _OFF = 9.0, 13.0, 10.0, 124.0, 12.0
_LABEL: Final = 5.2
_SIDE: Final = 3.0
_WIDTH = 2 * _SIDE + HALF * _STEP + _MIDDLE + _OFF
_PIPS: Final = {
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (-1, 1), (1, -1), (1, 1)),
    5: ((-1, -1), (-1, 1), (1, -1), (1, 1), (0, 0)),
    6: ((-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 0), (1, 1)),
}


def draw_position(native: Any, seat: int | None) -> Picture:
    """Return the board with its points, the bar, the pieces borne off and the dice."""
    del seat
    shapes = [*_draw_ground()]
    for point in range(N_POINTS):
        for side in range(2):
            shapes += _draw_stack(
                _find_middle(point), side, native.board(side, point), is_top=point >= HALF
            )
    bar_x = _SIDE + 6 * _STEP + _MIDDLE / 2
    off_x = _WIDTH - _SIDE - _OFF / 2 + 1
    for side, n_off in enumerate(read_borne_off(native)):
        shapes += _draw_stack(bar_x, side, native.board(side, BAR), is_top=side == 1)
        shapes += _draw_stack(off_x, side, n_off, is_top=side == 1)
    for n, die in enumerate(read_dice(native)):
        shapes += _draw_die(_SIDE + (9 + 1.4 * n) * _STEP + _MIDDLE - 6, _HEIGHT / 2, die)
    return Picture(_WIDTH, _HEIGHT, tuple(shapes), _LEGEND)


def _find_middle(point: int) -> float:
    """Return the middle of a point; point 0 is at the lower right, 23 at the upper right."""
    column = HALF - 1 - point if point < HALF else point - HALF
    return _SIDE + (column + 0.5) * _STEP + (_MIDDLE if column >= HALF // 2 else 0)


def _draw_ground() -> list[Shape]:
    inner = HALF * _STEP + _MIDDLE
    shapes: list[Shape] = [
        Rect(_SIDE, _EDGE, inner, _HEIGHT - 2 * _EDGE, "wood", 1),
        Rect(_SIDE + 6 * _STEP, _EDGE, _MIDDLE, _HEIGHT - 2 * _EDGE, "line"),
        Text(_WIDTH - _SIDE - _OFF / 2 + 1, _HEIGHT / 2, "off", _LABEL, "muted"),
    ]
    for point in range(N_POINTS):
        x, is_top = _find_middle(point), point >= HALF
        base, tip = (_EDGE, 52.0) if is_top else (_HEIGHT - _EDGE, _HEIGHT - 52)
        corners = ((x - _STEP / 2, base), (x + _STEP / 2, base), (x, tip))
        shapes.append(Polygon(corners, "dark" if point % 2 else "light"))
        # Moves are named by each side's own count of the points: both stand there.
        for side, depth, tint in ((1, 3.2, "ink"), (0, 9.2, "muted")):
            y = depth if is_top else _HEIGHT - depth
            shapes.append(Text(x, y, str(_count_from_home(side, point)), _LABEL, tint))
    return shapes


def _draw_stack(x: float, side: int, n_pieces: int, *, is_top: bool) -> list[Shape]:
    shapes: list[Shape] = []
    y = 0.0
    for n in range(min(n_pieces, SHOWN)):
        y = _EDGE + 4.2 + n * 8.2 if is_top else _HEIGHT - _EDGE - 4.2 - n * 8.2
        shapes += draw_piece(x, y, SIDES[side].piece, SIDES[side].tint)
    if n_pieces > SHOWN:
        shapes.append(Text(x, y, str(n_pieces), _LABEL, SIDES[1 - side].tint))
    return shapes


def _draw_die(x: float, y: float, die: int) -> list[Shape]:
    pips = [Circle(x + 2.4 * right, y + 2.4 * down, 0.95, "black") for right, down in _PIPS[die]]
    return [Rect(x - 5, y - 5, 10, 10, "card", 1.8), *pips]


def read_dice(native: Any) -> list[int]:
    """Return the dice that were thrown; none once the game is over."""
    text = re.search(r"^Dice: *(\d*)", str(native), re.MULTILINE)
    # The engine adds 6 to a die that the mover has used in the first half of a double turn.
    return [(int(digit) - 1) % 6 + 1 for digit in text.group(1)] if text else []


def read_borne_off(native: Any) -> list[int]:
    """Return how many pieces each side has borne off."""
    return [int(n) for n in re.findall(r"[XO]: (\d+)", str(native).partition("Scores")[2])]


def describe_position(native: Any, seat: int | None) -> str:
    """Return the dice, then what stands on the points of each side by its own count."""
    del seat
    dice, off = read_dice(native), read_borne_off(native)
    parts = [f"The dice show {' and '.join(map(str, dice))}."] if dice else []
    for side, (name, *_) in enumerate(SIDES):
        counts = {
            _count_from_home(side, point): native.board(side, point) for point in range(N_POINTS)
        }
        points = [f"{n} on {point}" for point, n in sorted(counts.items()) if n]
        points += [f"{n} on the bar" for n in [native.board(side, BAR)] if n]
        points += [f"{off[side]} borne off"] if off[side] else []
        parts.append(f"{name.capitalize()}, by its own count of points: {', '.join(points)}.")
    return " ".join(parts)


def _count_from_home(side: int, point: int) -> int:
    return point + 1 if side else N_POINTS - point


def name_action(native: Any, seat: int, action: int) -> str:
    """Return dice and moves as players write them, by the mover's own count: 6-4: 24/14."""
    moves = str(native.action_to_string(seat, action)).rpartition(" - ")[2].lower()
    high, low = sorted(read_dice(native), reverse=True)
    # "pass" is a die that cannot be played: with a move of the other one players write nothing.
    return f"{high}-{low}: {moves.removesuffix(' pass').replace('pass', 'cannot move')}"


GAME = OpenSpielGame(
    "backgammon",
    title="Backgammon",
    opening_plies=0,
    look=Look(draw_position, describe_position, name_action),
    observation_parts=parts(
        ("own checkers on each point: is it 1, 2, 3, how many more", 96),
        ("the other seat's checkers, likewise", 96),
        "own checkers on the bar",
        "own checkers borne off",
        "1 while the seat is to move",
        "the other seat's on the bar",
        "the other seat's borne off",
        "1 while the other seat is to move",
        ("the dice", 2),
    ),
    observation_note="As the seat sees it; points from 1 to 24 as the board numbers them.",
)
