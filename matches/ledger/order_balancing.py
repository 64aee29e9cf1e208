"""Move waiting orders from busy nodes to idle ones: no tournament waits for the slowest node."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from django.db.models.expressions import RawSQL

from arena.needs import Needs
from matches import dispatch
from matches.models import Order
from matches.nodes.play_nodes import PlayNode
from matches.store.plugin_files import Files, list_files

# All matches of an order need the same. Written out because SQLite uses the index match_in_flight
# for these very states only, not for values that are bound.
_NEEDS = """
    SELECT needs FROM matches_match
    WHERE order_id = matches_order.id AND state IN ('queued', 'running') LIMIT 1
"""


def feed_idle_nodes(nodes: Sequence[PlayNode]) -> int:
    """Give every node that has nothing an order that waits for another; return how many moved.

    The relay has filled the nodes before: one that has nothing found nothing pending for it.
    Raises BrokerError.
    """
    # An order may carry actions, which a node of an older version refuses.
    idle = [node for node in nodes if not node.n_orders and node.reads_actions]
    busy = {node.queue: node for node in nodes if node.n_queued}
    if not idle or not busy:
        return 0
    queued = Order.objects.filter(Order.is_open(), state=Order.State.QUEUED)
    queued = queued.select_related("tournament__leaderboard")
    with_needs = queued.annotate(needs=RawSQL(_NEEDS, []))
    movable = [order for order in with_needs if order.needs and order.queue in busy]
    waiting: defaultdict[tuple[Needs, Files], list[Order]] = defaultdict(list)
    # The last one moves first: the newest order of the node with the most work.
    for order in sorted(movable, key=lambda order: (busy[order.queue].load, order.pk)):
        waiting[Needs(order.needs), list_files(order.tournament)].append(order)
    return sum(_feed_node(node, waiting) for node in idle)


def _feed_node(idle: PlayNode, waiting: Mapping[tuple[Needs, Files], list[Order]]) -> bool:
    """Move one order that the idle node can play to its queue; False when there is none."""
    for (needs, files), orders in waiting.items():
        # Again with the next one when its node has taken the order meanwhile.
        while orders and idle.can_play(needs, files):
            order = orders.pop()
            if dispatch.move_order(order.uuid.hex, order.queue, idle.queue):
                # Were control to end before this, the sweep would miss it in its old queue.
                Order.objects.filter(pk=order.pk).update(queue=idle.queue, missed_at=None)
                return True
    return False
