"""Give up orders that nobody plays any more, so that their matches are tried again."""

import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from django.db.models import Q

from arena.messages import Reason
from arena.queues import play_queue
from matches.ledger import recorder_marks
from matches.ledger.order_states import lose_order
from matches.models import Order, Worker
from matches.nodes import node_runs
from matches.store.clock import (
    ALIVE_WITHIN,
    PLAYING_LEASE,
    POPPED_GRACE,
    POPPED_LIMIT,
    QUEUED_LEASE,
)

log = logging.getLogger(__name__)

AHEAD = timedelta(seconds=5)
"""What is written meanwhile by others may be a little ahead of `now`."""
LEASES = {Order.State.QUEUED: QUEUED_LEASE, Order.State.PLAYING: PLAYING_LEASE}


def give_up_lost_orders(*, now: datetime, waiting: Mapping[str, Collection[str]]) -> int:
    """Give up what is past its deadline, waits for a lost node or has vanished; return how many.

    `waiting`: the orders (uuids in hex) that are in each queue at this moment, of the queues that
    hold fewer than they should.
    """
    # Only reports older than the mark are known to be recorded, so only times before the mark are
    # judged, and nothing while it lags.
    mark = recorder_marks.find_recorded_until(now=now)
    if mark is None:
        return 0
    expired = Order.objects.filter(Order.is_open(), deadline_at__lt=mark)
    n_lost = _lose_orders(expired, Reason.EXPIRED, now=now)
    n_lost += _lose_orders(_find_orders_of_silent_nodes(mark), Reason.NODE_LOST, now=now)
    node_runs.end_silent_runs(mark=mark)
    return n_lost + _lose_vanished_orders(mark, waiting, now=now)


def find_lost_queues(*, now: datetime) -> list[str]:
    """Return the queues that nobody may play from: of nodes in quarantine, and lost with orders.

    Judged by the mark: while the recorder lags every node seems to be silent.
    """
    quarantined = Worker.objects.filter(quarantined_at__isnull=False).values_list("node", flat=True)
    queues = {play_queue(node) for node in quarantined}
    mark = recorder_marks.find_recorded_until(now=now)
    if mark is not None:
        queues.update(order.queue for order in _find_orders_of_silent_nodes(mark))
    return sorted(queues)


def _lose_orders(orders: Collection[Order], reason: Reason, *, now: datetime) -> int:
    return sum(lose_order(order, reason=reason, now=now) > 0 for order in orders)


def _find_orders_of_silent_nodes(mark: datetime) -> list[Order]:
    """Return the orders that wait for a node that was silent too long: it may never come back."""
    heard_queues = _read_last_heard(mark)
    return [order for order in _list_queued_orders() if order.queue not in heard_queues]


def _read_last_heard(mark: datetime) -> dict[str, datetime]:
    """Return when the nodes that may play were heard of last, by queue."""
    alive = Worker.objects.filter(last_seen_at__gte=mark - ALIVE_WITHIN, quarantined_at=None)
    return {play_queue(node): at for node, at in alive.values_list("node", "last_seen_at")}


def _lose_vanished_orders(
    mark: datetime, waiting: Mapping[str, Collection[str]], *, now: datetime
) -> int:
    """Give up orders that left their queue and were never started: their node died with them."""
    missing = {
        order.pk: order
        for order in _list_queued_orders()
        if order.queue in waiting and order.uuid.hex not in waiting[order.queue]
    }
    queued = Order.objects.filter(Order.is_open(), state=Order.State.QUEUED)
    # One that is there again was on its way to its queue.
    queued.filter(~Q(pk__in=list(missing)), missed_at__isnull=False).update(missed_at=None)
    queued.filter(pk__in=list(missing), missed_at=None).update(missed_at=now)
    heard_at, vanished = _read_last_heard(mark), []
    for order in missing.values():
        # Its node must have been heard of since: a loaded machine is slow to say that it has begun.
        heard_until = min(mark, heard_at.get(order.queue, mark))
        taken_before = max(heard_until - POPPED_GRACE, mark - POPPED_LIMIT)
        if order.missed_at and order.missed_at < taken_before:
            vanished.append(order)
    return _lose_orders(vanished, Reason.EXPIRED, now=now)


def _list_queued_orders() -> list[Order]:
    return list(Order.objects.filter(Order.is_open(), state=Order.State.QUEUED))


def shorten_leases(*, now: datetime) -> int:
    """Bring back what lies further in the future than it could have been put; return how many."""
    # After the clock was set back, deadlines would pass hours late, and a node that died would
    # count as alive until the clock has caught up.
    latest = now + AHEAD
    n_moved = 0
    for moment in ("last_seen_at", "lost_at", "trusted_at", "rival_seen_at", "forged_at"):
        n_moved += Worker.objects.filter(**{f"{moment}__gt": latest}).update(**{moment: now})
    open_orders = Order.objects.filter(Order.is_open())
    for state, lease in LEASES.items():
        late = open_orders.filter(state=state, deadline_at__gt=latest + lease)
        n_moved += late.update(deadline_at=now + lease)
    n_moved += open_orders.filter(missed_at__gt=latest).update(missed_at=None)
    if n_moved:
        log.warning("the clock was set back: %s times in the future were mended", n_moved)
    return n_moved
