"""Which game server played a match, by what its order dealt and what a node reports.

A node may name only the server that the match was dealt to by this order, and only once: whose
match has ended is forgotten. Where it names none, which an agent that fails before the first move
leaves it to, the order says who it was.
"""

import logging
from collections.abc import Collection

import msgspec

from arena.messages import ResultRow
from matches.models import Order, Worker
from matches.store.game_servers import Dealt

log = logging.getLogger(__name__)


def find_servers(order: Order) -> dict[int, str]:
    """Return which server each open match of an order was dealt to."""
    return {match: name for name, dealt in order.servers.items() for match in dealt}


def drop_ended(dealt: Dealt, ended: Collection[int]) -> dict[str, list[int]]:
    """Return what is left of an order; a server that has none left stays named."""
    return {name: [pk for pk in pks if pk not in ended] for name, pks in dealt.items()}


def keep_trusted(rows: dict[int, ResultRow], order: Order) -> dict[int, ResultRow]:
    """Return the rows that may count, each with its server.

    Not those of a server in quarantine, nor of one that did not have the match by this order.
    """
    if not order.servers and not any(row.server for row in rows.values()):
        return rows
    quarantined = Worker.objects.filter(node__in=order.servers, quarantined_at__isnull=False)
    in_quarantine = set(quarantined.values_list("node", flat=True))
    dealt, trusted = find_servers(order), {}
    for match, row in rows.items():
        name = dealt.get(match)
        # One of another order, or that has ended, would let it name whom it likes.
        if name is None or row.server not in {"", name}:
            server = row.server or "no server"
            log.warning("result of match %s of %s refused: not dealt by this order", match, server)
        elif name in in_quarantine:
            log.warning("result of match %s refused: %s is in quarantine", match, name)
        else:
            trusted[match] = msgspec.structs.replace(row, server=name)
    return trusted
