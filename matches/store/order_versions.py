"""Which orders a node reads, by what it says of its version."""

from collections.abc import Mapping, Sequence

from arena.messages import ORDERS, ORDERS_WITH_ACTIONS, ORDERS_WITH_SERVERS
from arena.needs import CPU, SERVER, Needs
from matches.models import Worker

MAX_NAMED = 3
SERVED = Needs(f"{CPU}+{SERVER}")


def reads_actions(versions: Mapping[str, object]) -> bool:
    """Say whether a node goes on with what others began."""
    return versions.get(ORDERS) in {ORDERS_WITH_ACTIONS, ORDERS_WITH_SERVERS}


def reads_orders(versions: Mapping[str, object], needs: Needs) -> bool:
    """Say whether a node reads orders of such matches: an older one dials no game servers."""
    return SERVER not in needs.services or versions.get(ORDERS) == ORDERS_WITH_SERVERS


def describe_old_nodes(nodes: Sequence[Worker], needs: Needs) -> str:
    """Return which nodes are too old for such matches; empty where one is not, or none is there."""
    if not nodes or any(reads_orders(node.versions, needs) for node in nodes):
        return ""
    names = ", ".join(node.node for node in nodes[:MAX_NAMED])
    return f"a play node that dials game servers: install this version of evalsite on {names}"
