"""Taxi: fetch a passenger and bring them where they want to go; steps and wrong stops cost."""

from typing import Any

from arena.games.gymnasium import GymnasiumGame
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.pictures import Cell, Grid, Line, Side, Text, label_cell

NAMES = ("south", "north", "east", "west", "pick up", "drop off")
PLACES = ("red", "green", "yellow", "blue")
ABOARD = len(PLACES)
ROWS = ("5", "4", "3", "2", "1")
SIDES = (Side("the taxi; P is its passenger", "ink", "T"),)
N_ROWS = N_COLUMNS = 5


def draw_position(env: Any, seat: int | None) -> Grid:
    """Return the streets: four places by colour, walls, the taxi, the passenger, the goal."""
    del seat
    taxi_row, taxi_column, passenger, goal = env.decode(env.s)
    shades = dict(zip(env.locs, PLACES, strict=True))
    taxi = (taxi_row, taxi_column)

    def cell(row: int, column: int) -> Cell:
        seat_there = 0 if (row, column) == taxi else -1
        return Cell(seat_there, shade=shades.get((row, column), ""), name="taxi")

    rows = tuple(tuple(cell(row, column) for column in range(N_COLUMNS)) for row in range(N_ROWS))
    grid = Grid(rows, "abcde", ROWS, SIDES, has_moving_pieces=True)
    labels = [label_cell(grid.find_corner(*env.locs[goal]), "goal")]
    if passenger < ABOARD and env.locs[passenger] != taxi:
        # Edged as the label is, to be seen on every colour.
        x, y = grid.find_corner(*env.locs[passenger])
        labels.append(Text(x + 5, y + 4, "P", 6.4, "white"))
    return grid._replace(extra=(*_draw_walls(env, grid), *labels))


def _draw_walls(env: Any, grid: Grid) -> list[Line]:
    walls = []
    for row in range(N_ROWS):
        for column in range(N_COLUMNS - 1):
            # The engine's map: ":" lets pass, "|" does not.
            if env.desc[row + 1, 2 * column + 2] == b"|":
                x, y = grid.find_corner(row, column + 1)
                walls.append(Line(x, y, x, y + 10, "ink", 1))
    return walls


def describe_position(env: Any, seat: int | None) -> str:
    """Return where the taxi is, where the passenger waits and where they want to go."""
    del seat
    row, column, passenger, goal = env.decode(env.s)
    place = "sits in the taxi" if passenger == ABOARD else f"waits at the {PLACES[passenger]} place"
    return (
        f"The taxi is on {'abcde'[column]}{ROWS[row]}. "
        f"The passenger {place} and wants to go to the {PLACES[goal]} one."
    )


def name_action(env: Any, seat: int, action: int) -> str:
    """Return what the taxi does."""
    del env, seat
    return NAMES[action]


GAME = GymnasiumGame(
    "taxi",
    "Taxi-v4",
    title="Taxi",
    score_range=(-2_000, 20),
    observation_parts=parts(("((row x 5 + column) x 5 + passenger) x 4 + goal", 500)),
    look=Look(draw_position, describe_position, name_action),
)
