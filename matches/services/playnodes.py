"""The play nodes that may be sent orders, and how much work each has in hand."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from arena.messages import play_queue
from matches import selectors
from matches.models import Match, Order, Tournament

ORDERS_PER_NODE = 3
"""One in play and two waiting: waiting stays short and no node runs dry."""
ORDER_AIM_S = 2.0
"""Work that one order aims at, per slot of a node."""


@dataclass
class PlayNode:
    """A node that is alive and not in quarantine; its own queue is its only source of orders."""

    name: str
    slots: int
    capabilities: frozenset[str]
    n_orders: int = 0
    n_queued: int = 0
    """Of its orders: those that it has not begun."""
    work_s: float = 0.0
    """Slot-seconds of its open orders."""

    @property
    def queue(self) -> str:
        """Return the queue that it consumes."""
        return play_queue(self.name)

    @property
    def has_room(self) -> bool:
        """True when another order may wait for it."""
        return self.n_orders < ORDERS_PER_NODE

    @property
    def load(self) -> tuple[float, int, str]:
        """Return by what nodes are sorted, the one with the least work per slot first."""
        return (self.work_s / self.slots, self.n_orders, self.name)

    def can_play(self, needs: Match.Needs) -> bool:
        """Say whether it has what the players of a match need."""
        return needs.capability in self.capabilities

    def add(self, work_s: float, *, is_queued: bool = True) -> None:
        """Count an order that it has in hand."""
        self.n_orders += 1
        self.n_queued += is_queued
        self.work_s += work_s


def read_nodes(*, now: datetime) -> list[PlayNode]:
    """Return the nodes whose last report is young enough, with their open orders."""
    workers = selectors.alive_workers(now=now)
    nodes = [PlayNode(w.node, w.slots, frozenset(map(str, w.capabilities))) for w in workers]
    by_queue = {node.queue: node for node in nodes}
    columns = ("queue", "state", "n_matches", "tournament__mean_match_s")
    for queue, state, n_matches, mean_s in _open_orders(*columns):
        node = by_queue.get(queue)
        if node is not None:
            work_s = _work_s(n_matches, mean_s, node.slots)
            node.add(work_s, is_queued=state == Order.State.QUEUED.value)
    return nodes


def order_work_s(tournament: Tournament, n_matches: int, node: PlayNode) -> float:
    """Return the slot-seconds that an order takes a node."""
    return _work_s(n_matches, tournament.mean_match_s, node.slots)


def _work_s(n_matches: int, mean_match_s: float | None, slots: int) -> float:
    """Return slot-seconds of matches; what an order aims at while their length is not known."""
    return ORDER_AIM_S * slots if mean_match_s is None else n_matches * mean_match_s


def _open_orders(*columns: str) -> Iterator[tuple[str, str, int, float | None]]:
    yield from Order.objects.filter(Order.is_open()).values_list(*columns)
