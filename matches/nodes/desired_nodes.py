"""How many play nodes would play what waits in time: for what starts and stops machines."""

from datetime import datetime
from math import ceil
from typing import NamedTuple

from django.conf import settings

from matches.models import NodeRun, Tournament
from matches.nodes.fair_shares import estimate_work_s
from matches.store import selectors


class DesiredNodes(NamedTuple):
    """How many nodes are wished for, and by what."""

    n_nodes: int
    backlog_s: float
    """Slot-seconds of what is planned and has not ended."""
    slots_per_node: float


def count_nodes(backlog_s: float, *, slots: float, within_s: float, most: int) -> int:
    """Return how many nodes play so many slot-seconds in time; 0 when there is nothing."""
    needed = max(1, ceil(backlog_s / (slots * within_s))) if backlog_s > 0 else 0
    return min(most, needed)


def measure_desired_nodes(*, now: datetime) -> DesiredNodes:
    """Return how many nodes what is planned and not paused asks for."""
    playing = Tournament.objects.filter(state__in=Tournament.PLAYING)
    # What is planned, not what a pairing by results may still ask for: it often ends early.
    backlog_s = sum(
        estimate_work_s(max(0, t.n_planned - t.n_closed), t.mean_match_s) for t in playing
    )
    slots = _measure_slots(now=now)
    n_nodes = count_nodes(
        backlog_s,
        slots=slots,
        within_s=settings.BACKLOG_WITHIN_S,
        most=settings.MAX_DESIRED_NODES,
    )
    return DesiredNodes(n_nodes, backlog_s, slots)


def _measure_slots(*, now: datetime) -> float:
    """Return the mean slots of the living nodes, else the slots of the node seen last."""
    alive = [worker.slots for worker in selectors.list_alive_workers(now=now)]
    if alive:
        return max(1.0, sum(alive) / len(alive))
    newest = NodeRun.objects.order_by("-id").first()
    return float(max(1, newest.slots)) if newest else 1.0
