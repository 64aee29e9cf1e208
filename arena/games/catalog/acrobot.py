"""Acrobot: swing two linked arms above a line; each step until then costs a point."""

from math import cos, degrees, sin
from typing import Any

from arena.games.gymnasium import GymnasiumGame
from arena.games.looks import Look
from arena.games.observations import parts
from arena.games.pictures import Circle, Line, Picture

SIZE, ARM = 60.0, 13.0
NAMES = ("turn clockwise", "let swing", "turn anticlockwise")


def draw_position(env: Any, seat: int | None) -> Picture:
    """Return both arms, hanging from the middle, and the line that the end must reach."""
    del seat
    first, second = float(env.state[0]), float(env.state[0] + env.state[1])
    root = SIZE / 2
    joint = (root + ARM * sin(first), root + ARM * cos(first))
    end = (joint[0] + ARM * sin(second), joint[1] + ARM * cos(second))
    line = root - ARM
    return Picture(
        SIZE,
        SIZE,
        (
            Line(0, line, SIZE, line, "green", 0.6),
            Line(root, root, *joint, "blue", 2.4),
            Line(*joint, *end, "yellow", 2.4),
            Circle(root, root, 1.6, "ink"),
            Circle(*joint, 1.6, "ink"),
            Circle(*end, 1.6, "red"),
        ),
    )


def describe_position(env: Any, seat: int | None) -> str:
    """Return how both arms stand."""
    del seat
    upper, lower = (degrees(float(angle)) for angle in env.state[:2])
    return (
        f"The upper arm is at {upper:.0f} degrees from hanging, the lower at {lower:.0f} from it."
    )


def name_action(env: Any, seat: int, action: int) -> str:
    """Return how the joint between the arms is turned."""
    del env, seat
    return NAMES[action]


GAME = GymnasiumGame(
    "acrobot",
    "Acrobot-v1",
    title="Acrobot",
    score_range=(-500, 0),
    observation_parts=parts(
        "cosine of the upper angle",
        "its sine",
        "cosine of the lower angle",
        "its sine",
        "angular speed of the upper arm",
        "of the lower arm",
    ),
    look=Look(draw_position, describe_position, name_action),
)
