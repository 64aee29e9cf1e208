"""The play nodes that may be sent orders, and how much work each has in hand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from arena.machine import CLASS
from arena.needs import SERVER, Needs
from arena.queues import play_queue
from matches.models import Order
from matches.nodes.fair_shares import estimate_work_s
from matches.nodes.survival import read_order_limits_s
from matches.store import selectors
from matches.store.order_versions import SERVED, reads_actions, reads_orders
from matches.store.plugin_files import Files, has_files

# One in play and two waiting: no node runs dry while reports are under way.
ORDERS_PER_NODE = 3
# Work that one order aims at, per slot of a node; no more is sent while so much waits.
ORDER_AIM_S = 2.0


@dataclass
class PlayNode:
    """A node that is alive and not in quarantine; its own queue is its only source of orders."""

    name: str
    slots: int
    capabilities: frozenset[str]
    plugins: Mapping[str, str] | None = None
    """Hashes of its plug-in files; None: not known."""
    longest_s: float | None = None
    """How long an order may last, where nodes of its class are soon gone; None: as usual."""
    reads_actions: bool = True
    """Whether it goes on with what others began; a node of an older version does not."""
    reads_servers: bool = True
    """Whether it plays on game servers; a node of an older version does not."""
    n_orders: int = 0
    n_queued: int = 0
    """Of its orders: those that it has not begun."""
    work_s: float = 0.0
    """Slot-seconds of its open orders."""
    queued_s: float = 0.0
    """Of these: slot-seconds of those that it has not begun."""
    free_at: datetime | None = None
    """When it will have played what it plays now."""
    next_order: tuple[int, UUID] | None = None
    """Of its orders: the one that has waited longest, by number."""
    untimed: set[int] = field(default_factory=set)
    """Tournaments of unknown length of which it has an order."""

    @property
    def queue(self) -> str:
        """Return the queue that it consumes."""
        return play_queue(self.name)

    @property
    def has_room(self) -> bool:
        """True when another order may wait for it: as little as keeps it busy."""
        is_short = self.queued_s < ORDER_AIM_S * self.slots
        return self.n_orders < ORDERS_PER_NODE and is_short

    @property
    def load(self) -> tuple[float, int, str]:
        """Return the key that nodes are sorted by: the least work per slot comes first."""
        return (self.work_s / self.slots, self.n_orders, self.name)

    def can_play(self, needs: Needs, files: Files) -> bool:
        """Say whether it has what the players of a match with these plug-in files need."""
        is_read = self.reads_servers or SERVER not in needs.services
        return is_read and needs.are_met_by(self.capabilities) and has_files(self.plugins, files)

    def add_waiting(
        self, tournament: int, n_matches: int, mean_s: float | None, *, order: tuple[int, UUID]
    ) -> None:
        """Count an order that it has not begun."""
        self._count_order(tournament, n_matches, mean_s)
        self.n_queued += 1
        self.queued_s += estimate_work_s(n_matches, mean_s)
        self.next_order = min(order, self.next_order or order)

    def add_playing(
        self, tournament: int, n_matches: int, mean_s: float | None, *, since: datetime
    ) -> None:
        """Count an order that it plays."""
        self._count_order(tournament, n_matches, mean_s)
        free_at = since + timedelta(seconds=estimate_work_s(n_matches, mean_s) / self.slots)
        self.free_at = max(free_at, self.free_at or free_at)

    def _count_order(self, tournament: int, n_matches: int, mean_s: float | None) -> None:
        self.n_orders += 1
        self.work_s += estimate_work_s(n_matches, mean_s)
        if mean_s is None:
            self.untimed.add(tournament)


def read_play_nodes(*, now: datetime) -> list[PlayNode]:
    """Return the nodes whose last report is young enough, with their open orders."""
    workers = selectors.list_alive_workers(now=now)
    limits_s = read_order_limits_s({str(w.labels.get(CLASS, "")) for w in workers})
    nodes = [
        PlayNode(
            *(w.node, w.slots, frozenset(map(str, w.capabilities)), w.plugins),
            longest_s=limits_s.get(str(w.labels.get(CLASS, ""))),
            reads_actions=reads_actions(w.versions),
            reads_servers=reads_orders(w.versions, SERVED),
        )
        for w in workers
    ]
    by_queue = {node.queue: node for node in nodes}
    columns = ("queue", "tournament", "n_matches", "tournament__mean_match_s", "started_at")
    rows = Order.objects.filter(Order.is_open()).values_list("pk", "uuid", *columns)
    for pk, uuid, queue, *work, started_at in rows:
        node = by_queue.get(queue)
        if node is None:  # its node is lost or in quarantine: the sweep gives the order up
            continue
        if started_at is None:
            node.add_waiting(*work, order=(pk, uuid))
        else:
            node.add_playing(*work, since=started_at)
    return nodes
