"""MountainCar: rock a weak car up a hill; each step until the flag costs a point, 200 at most."""

from math import sin
from typing import Any

from arena.games.gymnasium import GymnasiumGame
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.pictures import Circle, Line, Picture, Polygon, Text

WIDTH, HEIGHT, N_PIECES, ARROW = 90.0, 54.0, 36, 12.0
NAMES = ("drive left", "roll", "drive right")


def draw_position(env: Any, seat: int | None) -> Picture:
    """Return the valley, the flag on the right, and the car with its speed as a line over it."""
    del seat

    def place(x: float) -> tuple[float, float]:
        share = (x - env.min_position) / (env.max_position - env.min_position)
        return share * WIDTH, HEIGHT - 8 - (sin(3 * x) + 1) * 15

    step = (env.max_position - env.min_position) / N_PIECES
    ground = [place(env.min_position + n * step) for n in range(N_PIECES + 1)]
    car, flag = place(float(env.state[0])), place(env.goal_position)
    arrow = ARROW * float(env.state[1]) / env.max_speed
    return Picture(
        WIDTH,
        HEIGHT,
        (
            Polygon(((0, HEIGHT), *ground, (WIDTH, HEIGHT)), "line"),
            Line(*flag, flag[0], flag[1] - 9, "ink", 0.6),
            Line(flag[0], flag[1] - 8, flag[0] - 4, flag[1] - 8, "green", 2),
            Text(flag[0], flag[1] + 5, "goal", 4),
            # The longer, the faster it goes.
            Line(car[0], car[1] - 8, car[0] + arrow, car[1] - 8, "blue", 1.2),
            Circle(car[0], car[1] - 2.6, 2.6, "red"),
        ),
    )


def describe_position(env: Any, seat: int | None) -> str:
    """Return where the car is and how fast it goes which way."""
    del seat
    x, speed = map(float, env.state)
    direction = "left" if speed < 0 else "right"
    return (
        f"The car is {env.goal_position - x:.2f} away from the flag and goes "
        f"{abs(speed):.3f} a step to the {direction}."
    )


def name_action(env: Any, seat: int, action: int) -> str:
    """Return where the car is driven."""
    del env, seat
    return NAMES[action]


GAME = GymnasiumGame(
    "mountain_car",
    "MountainCar-v0",
    title="MountainCar",
    score_range=(-200, 0),
    observation_parts=parts("place of the car", "its speed"),
    look=Look(draw_position, describe_position, name_action),
)
