"""How long spot nodes live, and how long an order may last on one that is soon gone."""

from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from arena.machine import SPOT
from matches.models import NodeRun

THROWN_AWAY = 0.05
"""Of what spot nodes play: the most that may be thrown away as they go."""
N_RUNS = 100
"""The newest runs of a class, which say how long they live."""


class Life(NamedTuple):
    """How long a process has lived, and whether it is gone."""

    alive_s: float
    is_over: bool


def measure_mean_life_s(lives: Collection[Life]) -> float | None:
    """Return the mean life; None while none is over.

    The time of all by those that are over: as much as lives that go on say, not only short ones.
    """
    n_over = sum(life.is_over for life in lives)
    return sum(life.alive_s for life in lives) / n_over if n_over else None


def limit_order_s(mean_life_s: float, *, share: float = THROWN_AWAY) -> float:
    """Return the longest order of which no more than a share is thrown away in the long run.

    Whatever the law of the lives: each loses at most the order that is in play, and the orders
    of a mean life last as long as it does. All of it is lost where its matches end together.
    """
    return share * mean_life_s


def read_order_limits_s(classes: Collection[str]) -> dict[str, float]:
    """Return by class how long an order may last, of the spot classes whose lives are known."""
    limits = {}
    for machine_class in {*classes} & {SPOT}:
        newest = NodeRun.objects.filter(machine_class=machine_class).order_by("-id")[:N_RUNS]
        rows = newest.values_list("began_at", "heard_at", "ended_at")
        lives = [
            Life(_count_seconds(heard_at - began_at), ended_at is not None)
            for began_at, heard_at, ended_at in rows
        ]
        mean_life_s = measure_mean_life_s(lives)
        if mean_life_s is not None:
            limits[machine_class] = limit_order_s(mean_life_s)
    return limits


def _count_seconds(span: timedelta) -> float:
    return max(0.0, span.total_seconds())
