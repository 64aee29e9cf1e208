"""How long spot nodes live, and how long an order may last on one that is soon gone."""

from collections import defaultdict
from collections.abc import Collection
from typing import NamedTuple

from django.db.models import Q

from arena.machine import SPOT
from matches.models import NodeRun

THROWN_AWAY = 0.05
"""Of what spot nodes play: the most that may be thrown away as they go."""
N_RUNS = 100
"""The newest runs of a class, which say how long they live, beside those that live on."""


class Life(NamedTuple):
    """How long a process has lived, and whether it is gone."""

    alive_s: float
    is_over: bool


def measure_mean_life_s(lives_by_node: Collection[Collection[Life]]) -> float | None:
    """Return the mean life; None while none is over. lives_by_node: of each node one or more.

    The time of all by those that are over: as much as lives that go on say, not only short ones.
    Each node weighs as one life, the mean of its own: one that starts again every few seconds
    would else outnumber all others, and shrink their orders.
    """
    alive_s = n_over = 0.0
    for lives in lives_by_node:
        alive_s += sum(life.alive_s for life in lives) / len(lives)
        n_over += sum(life.is_over for life in lives) / len(lives)
    return alive_s / n_over if n_over else None


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
        of_class = NodeRun.objects.filter(machine_class=machine_class).order_by("-id")
        newest = Q(id__in=[*of_class.values_list("id", flat=True)[:N_RUNS]])
        # The newest may all be of one node that starts again and again.
        rows = of_class.filter(newest | Q(ended_at=None))
        lives_by_node = defaultdict[str, list[Life]](list)
        for node, began_at, heard_at, ended_at in rows.values_list(
            "node", "began_at", "heard_at", "ended_at"
        ):
            life = Life(max(0.0, (heard_at - began_at).total_seconds()), ended_at is not None)
            lives_by_node[node].append(life)
        mean_life_s = measure_mean_life_s(lives_by_node.values())
        if mean_life_s is not None:
            limits[machine_class] = limit_order_s(mean_life_s)
    return limits
