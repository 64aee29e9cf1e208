"""CartPole: keep a pole upright on a cart; a point for each step, 500 at the most."""

from math import cos, degrees, sin
from typing import Any

from arena.games.gymnasium import GymnasiumGame
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.pictures import Circle, Line, Picture, Rect

SCALE, TRACK, POLE = 20.0, 40.0, 24.0
NAMES = ("push left", "push right")


def draw_position(env: Any, seat: int | None) -> Picture:
    """Return the cart with its pole between the two ends, where the episode is lost."""
    del seat
    x, _, angle, _ = map(float, env.state)
    middle = (x + env.x_threshold * 1.1) * SCALE
    width = 2.2 * env.x_threshold * SCALE
    pivot = TRACK - 6
    top = (middle + POLE * sin(angle), pivot - POLE * cos(angle))
    ends = [(sign * env.x_threshold + env.x_threshold * 1.1) * SCALE for sign in (-1, 1)]
    return Picture(
        width,
        TRACK + 6,
        (
            Line(0, TRACK, width, TRACK, "line", 0.6),
            *(Line(end, TRACK - 3, end, TRACK + 3, "red", 0.8) for end in ends),
            Rect(middle - 7, TRACK - 7, 14, 7, "ink", 1),
            Line(middle, pivot, *top, "yellow", 2),
            Circle(middle, pivot, 1.2, "paper"),
        ),
    )


def describe_position(env: Any, seat: int | None) -> str:
    """Return where the cart is and how far the pole leans."""
    del seat
    x, _, angle, _ = map(float, env.state)
    lean = "left" if angle < 0 else "right"
    side = "left" if x < 0 else "right"
    return (
        f"The pole leans {abs(degrees(angle)):.1f} degrees to the {lean}, "
        f"the cart is {abs(x):.2f} to the {side} of the middle."
    )


def name_action(env: Any, seat: int, action: int) -> str:
    """Return to which side the cart is pushed."""
    del env, seat
    return NAMES[action]


GAME = GymnasiumGame(
    "cart_pole",
    "CartPole-v1",
    title="CartPole",
    score_range=(0, 500),
    observation_parts=parts(
        "place of the cart", "its speed", "lean of the pole in radians", "its angular speed"
    ),
    look=Look(draw_position, describe_position, name_action),
)
