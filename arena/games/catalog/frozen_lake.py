"""FrozenLake: cross slippery ice to the goal and fall into no hole; a point for reaching it."""

from typing import Any

from arena.games.gymnasium import GymnasiumGame
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.pictures import Cell, Grid, Side, label_cell

NAMES = ("left", "down", "right", "up")
SHADES = {b"H": "blue", b"G": "green"}
LABELS = {b"H": "hole", b"G": "goal"}
ROWS = ("4", "3", "2", "1")
SIDES = (Side("walker", "red"),)


def draw_position(env: Any, seat: int | None) -> Grid:
    """Return the lake: holes blue, the goal green, and the walker."""
    del seat
    rows = tuple(
        tuple(
            Cell(0 if row * env.ncol + column == env.s else -1, shade=SHADES.get(kind, ""))
            for column, kind in enumerate(line)
        )
        for row, line in enumerate(env.desc)
    )
    grid = Grid(rows, "abcd", ROWS, SIDES, has_moving_pieces=True)
    labels = (
        label_cell(grid.find_corner(row, column), LABELS[kind])
        for row, line in enumerate(env.desc)
        for column, kind in enumerate(line)
        if kind in LABELS
    )
    return grid._replace(extra=tuple(labels))


def describe_position(env: Any, seat: int | None) -> str:
    """Return where the walker stands."""
    return draw_position(env, seat).list_pieces()


def name_action(env: Any, seat: int, action: int) -> str:
    """Return where the walker tries to go: the ice may turn it aside."""
    del env, seat
    return NAMES[action]


GAME = GymnasiumGame(
    "frozen_lake",
    "FrozenLake-v1",
    title="FrozenLake",
    score_range=(0, 1),
    observation_parts=parts(("which field, from the upper left, row by row", 16)),
    look=Look(draw_position, describe_position, name_action),
)
