"""Which matches are to be played under which limits: what tournaments and schedules share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict


@dataclass(frozen=True)
class Plan:
    """Who meets whom under which limits; move_s, match_s: in seconds."""

    pairing: str
    pairing_parameters: Mapping[str, Any]
    seed: int
    weight: int
    move_s: float
    match_s: float
    is_rated: bool
    keeps_trajectories: bool
    trajectory_days: int | None
    order_limit: int | None


class NewPlan(TypedDict, total=False):
    """The same, to be asked for."""

    pairing: str
    pairing_parameters: Mapping[str, Any]
    seed: int
    weight: int
    move_s: float
    match_s: float
    is_rated: bool
    keeps_trajectories: bool
    trajectory_days: int | None
    order_limit: int | None


def on_leaderboard(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return a filter as lists of plans take it, with the leaderboard by name."""
    names = {"leaderboard": "leaderboard__name"}
    return {names.get(name, name): value for name, value in wanted.items()}
