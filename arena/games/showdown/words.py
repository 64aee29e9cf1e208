"""A battle in words: what has just happened, and how both teams stand."""

from collections.abc import Mapping
from typing import Any


def tell_battle(view: Mapping[str, Any]) -> str:
    """Return what a view of show.js says, in words."""
    sides = (
        f"Seat {seat} has {side['left']} left: "
        + ", ".join(f"{one['name']} {one['hp_text']}" for one in side["pokemon"])
        for seat, side in enumerate(view["sides"])
    )
    return f"Turn {view['turn']}. " + ". ".join(sides) + "."
