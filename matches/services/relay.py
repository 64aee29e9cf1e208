"""Send pending matches to the play nodes: commit first, publish after."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from django.db import connection, transaction
from django.db.models import F

from arena.messages import play_queue
from matches import dispatch, selectors
from matches.errors import BrokerError
from matches.leases import QUEUED_LEASE
from matches.models import Match, Order, Tournament
from matches.models.choices import PLAYS
from matches.services import shares
from matches.services.orders import OrderedMatch, order_message
from matches.services.rows import among

log = logging.getLogger(__name__)

ORDERS_PER_NODE = 3
"""One in play and two waiting: waiting stays short and no node runs dry."""
ORDER_AIM_S = 2.0
"""Work that one order aims at, per slot of a node."""
NETWORKED_AIM_S = 10.0
"""The same where networks decide: all matches of an order share their forwards."""
FIRST_PER_SLOT = 32
"""Matches a slot in an order while the length of a match is not known; twice that of networks."""
MAX_ORDER = 1_000


@dataclass(frozen=True)
class Cluster:
    """The play nodes of one capability that are alive."""

    n_nodes: int = 0
    n_slots: int = 0

    @property
    def slots_per_node(self) -> float:
        """Slots of a node on average."""
        return self.n_slots / self.n_nodes


@dataclass(frozen=True)
class Line:
    """A queue that is being filled."""

    queue: str
    nodes: Cluster
    playable: Sequence[Match.Needs]
    held: Sequence[int]
    """Agents whose matches wait."""
    without: set[int] = field(default_factory=set)
    """Tournaments that have nothing pending for it."""


def alive_clusters(*, now: datetime) -> dict[str, Cluster]:
    """Return the nodes whose last report is young enough, by the queue that they consume."""
    nodes = selectors.alive_workers(now=now)
    able = {c.value: [n.slots for n in nodes if c in n.capabilities] for c in PLAYS}
    return {play_queue(c): Cluster(len(slots), sum(slots)) for c, slots in able.items()}


def relay(*, now: datetime) -> int:
    """Send orders until every node has enough to do; return how many were sent.

    With no node alive that could play a match, it waits: what waits in a queue helps nobody and
    would expire there. So do matches that ask the gpu queue while no gpu worker is alive.
    """
    has_gpu = bool(selectors.alive_gpu_workers(now=now))
    n_open = Counter(Order.objects.filter(Order.is_open()).values_list("queue", flat=True))
    held = selectors.quarantined_agents()
    n_sent = 0
    for queue, nodes in alive_clusters(now=now).items():
        line = Line(queue, nodes, _playable(queue, has_gpu=has_gpu), held)
        for _ in range(ORDERS_PER_NODE * nodes.n_nodes - n_open[queue]):
            if not _send_one(line, now=now):
                break
            n_sent += 1
    return n_sent


def queue_of(needs: Match.Needs) -> str:
    """Return the queue of orders whose matches have these needs."""
    return play_queue(needs.capability)


def _playable(queue: str, *, has_gpu: bool) -> list[Match.Needs]:
    """Return what needs the nodes of a queue can meet now."""
    return [n for n in Match.Needs if queue_of(n) == queue and (has_gpu or not n.wants_gpu)]


def order_size(tournament: Tournament, cluster: Cluster, *, is_networked: bool = False) -> int:
    """Return how many matches the next order of a tournament holds."""
    left = tournament.n_planned - tournament.n_closed
    share = ceil(left / (cluster.n_nodes if is_networked else 2 * cluster.n_nodes))
    if tournament.mean_match_s is None:
        per_slot: float = FIRST_PER_SLOT * (2 if is_networked else 1)
    else:
        aim_s = NETWORKED_AIM_S if is_networked else ORDER_AIM_S
        per_slot = aim_s / max(tournament.mean_match_s, 1e-6)
    aim = per_slot * cluster.slots_per_node
    return max(1, min(int(aim), share, tournament.order_limit or MAX_ORDER, MAX_ORDER))


def _send_one(line: Line, *, now: datetime) -> bool:
    """Send one order of the tournament whose turn it is; say whether one was sent."""
    active = _active_tournaments()
    at = shares.clock(active, line.queue)
    waiting = [tournament for tournament in active if tournament.pk not in line.without]
    for tournament in sorted(waiting, key=lambda row: shares.begins(row, line.queue, at)):
        taken = _taken(tournament, line, now=now)
        if taken is None:
            line.without.add(tournament.pk)
            continue
        is_sent = _publish(*taken, tournament, now=now)
        if is_sent:
            work_s = _work_s(tournament, taken[0], line.nodes)
            shares.charge(tournament, line.queue, at, work_s)
        return is_sent
    return False


def _taken(
    tournament: Tournament, line: Line, *, now: datetime
) -> tuple[Order, Sequence[OrderedMatch]] | None:
    """Return a new order of a tournament for this queue; None when nothing is pending for it."""
    needs = _next_needs(tournament, line.playable, line.held)
    if needs is None:
        return None
    size = order_size(tournament, line.nodes, is_networked=needs is not Match.Needs.CPU)
    return take(tournament, needs, size, now=now, held=line.held)


def _work_s(tournament: Tournament, order: Order, nodes: Cluster) -> float:
    """Return the slot-seconds that an order takes; what orders aim at while that is not known."""
    if tournament.mean_match_s is None:
        return ORDER_AIM_S * nodes.slots_per_node
    return order.n_matches * tournament.mean_match_s


def _next_needs(
    tournament: Tournament, playable: Sequence[Match.Needs], held: Sequence[int]
) -> Match.Needs | None:
    """Return the needs of the next pending match that can be played, by one look-up per need."""
    pending = selectors.to_send(tournament.pk, held=held)
    in_order = pending.order_by("sequence").values_list("sequence", flat=True)
    firsts = {needs: in_order.filter(needs=needs.value).first() for needs in playable}
    waiting = [(first, needs) for needs, first in firsts.items() if first is not None]
    return min(waiting)[1] if waiting else None


def _active_tournaments() -> Sequence[Tournament]:
    """Return the tournaments that may have pending matches, the oldest first."""
    active = Tournament.objects.filter(
        state__in=(Tournament.State.PLANNING, Tournament.State.RUNNING)
    )
    return list(active.select_related("leaderboard").order_by("pk"))


@transaction.atomic
def take(
    tournament: Tournament,
    needs: Match.Needs,
    n: int,
    *,
    now: datetime,
    held: Sequence[int] = (),
) -> tuple[Order, Sequence[OrderedMatch]] | None:
    """Put the next pending matches of these needs into a new order; None when none is pending.

    Those of the held agents wait.
    """
    pending = selectors.to_send(tournament.pk, held=held).filter(needs=needs.value)
    if connection.features.has_select_for_update_skip_locked:
        pending = pending.select_for_update(skip_locked=True)
    columns = ("pk", "attempt", "game_seed", "lineup")
    rows = pending.order_by("sequence").values_list(*columns)[:n]
    matches = [OrderedMatch(pk, attempt + 1, *rest) for pk, attempt, *rest in rows]
    if not matches:
        return None
    order = Order.objects.create(
        tournament=tournament,
        queue=queue_of(needs),
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
