"""Send pending matches to the play nodes: commit first, publish after."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil

from django.db import connection, transaction
from django.db.models import F

from matches import dispatch
from matches.errors import BrokerError
from matches.leases import ALIVE_WITHIN, QUEUED_LEASE
from matches.models import Match, Order, Tournament, Worker
from matches.services.orders import OrderedMatch, order_message
from matches.services.rows import among

log = logging.getLogger(__name__)

ORDERS_PER_NODE = 3
"""One in play and two waiting: waiting stays short and no node runs dry."""
ORDER_AIM_S = 2.0
"""Work that one order aims at, per slot of a node."""
FIRST_PER_SLOT = 32
"""Matches a slot in an order while the length of a match is not known."""
MAX_ORDER = 1_000


@dataclass(frozen=True)
class Cluster:
    """The play nodes that are alive."""

    n_nodes: int
    n_slots: int

    @property
    def slots_per_node(self) -> float:
        """Slots of a node on average."""
        return self.n_slots / self.n_nodes


def alive_cluster(*, now: datetime) -> Cluster:
    """Return the nodes whose last report is young enough."""
    slots = list(
        Worker.objects.filter(last_seen_at__gte=now - ALIVE_WITHIN).values_list("slots", flat=True)
    )
    return Cluster(n_nodes=len(slots), n_slots=sum(slots))


def relay(*, now: datetime) -> int:
    """Send orders until every node has enough to do; return how many were sent.

    With no node alive nothing is sent: what waits in a queue helps nobody and would expire there.
    """
    cluster = alive_cluster(now=now)
    n_open = Order.objects.filter(Order.is_open(), queue=dispatch.PLAY_QUEUE).count()
    n_sent = 0
    while n_open + n_sent < ORDERS_PER_NODE * cluster.n_nodes and _send_one(cluster, now=now):
        n_sent += 1
    return n_sent


def order_size(tournament: Tournament, cluster: Cluster) -> int:
    """Return how many matches the next order of a tournament holds."""
    left = tournament.n_planned - tournament.n_closed
    share = ceil(left / (2 * cluster.n_nodes))
    if tournament.mean_match_s is None:
        aim = FIRST_PER_SLOT * cluster.slots_per_node
    else:
        aim = ORDER_AIM_S * cluster.slots_per_node / max(tournament.mean_match_s, 1e-6)
    return max(1, min(int(aim), share, MAX_ORDER))


def _send_one(cluster: Cluster, *, now: datetime) -> bool:
    """Send one order of the tournament that has fewest in flight; say whether there was one."""
    for tournament in _waiting_tournaments():
        taken = take(tournament, order_size(tournament, cluster), now=now)
        if taken is not None:
            return _publish(*taken, tournament, now=now)
    return False


def _waiting_tournaments() -> Sequence[Tournament]:
    """Return the tournaments that may have pending matches, those with fewest in flight first."""
    in_flight = Counter(Order.objects.filter(Order.is_open()).values_list("tournament", flat=True))
    active = Tournament.objects.filter(
        state__in=(Tournament.State.PLANNING, Tournament.State.RUNNING)
    )
    by_age = active.select_related("leaderboard").order_by("pk")
    return sorted(by_age, key=lambda tournament: in_flight[tournament.pk])


@transaction.atomic
def take(
    tournament: Tournament, n: int, *, now: datetime
) -> tuple[Order, Sequence[OrderedMatch]] | None:
    """Put the next pending matches into a new order, or return None when none is pending."""
    pending = Match.objects.filter(tournament=tournament, state=Match.State.PENDING)
    if connection.features.has_select_for_update_skip_locked:
        pending = pending.select_for_update(skip_locked=True)
    columns = ("pk", "attempt", "game_seed", "lineup")
    rows = pending.order_by("sequence").values_list(*columns)[:n]
    matches = [OrderedMatch(pk, attempt + 1, *rest) for pk, attempt, *rest in rows]
    if not matches:
        return None
    order = Order.objects.create(
        tournament=tournament,
        queue=dispatch.PLAY_QUEUE,
        n_matches=len(matches),
        created_at=now,
        deadline_at=now + QUEUED_LEASE,
    )
    # The rows are locked (SQLite: the whole database), so they are the ones read above.
    Match.objects.filter(pk__in=among([match.pk for match in matches])).update(
        state=Match.State.QUEUED, attempt=F("attempt") + 1, order=order
    )
    return order, matches


def _publish(
    order: Order, matches: Sequence[OrderedMatch], tournament: Tournament, *, now: datetime
) -> bool:
    try:
        dispatch.publish_order(order_message(order, tournament, matches), order.queue)
    except BrokerError as error:
        log.warning("order %s is taken back: %s", order.pk, error)
        withdraw(order, now=now)
        return False
    return True


@transaction.atomic
def withdraw(order: Order, *, now: datetime) -> None:
    """Put the matches of an order that was not published back; nobody has played them."""
    Match.objects.filter(Match.is_in_flight(), order=order).update(
        state=Match.State.PENDING, order=None
    )
    Order.objects.filter(pk=order.pk).update(state=Order.State.CLOSED, closed_at=now)
