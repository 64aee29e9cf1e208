"""Give up orders that nobody plays any more, so that their matches are tried again."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet

from arena.messages import Reason
from matches.leases import POPPED_GRACE
from matches.models import Order
from matches.services import marks
from matches.services.nodes import lose_order


def sweep(*, now: datetime, n_waiting: Mapping[str, int]) -> int:
    """Give up what is past its deadline or has vanished from its queue; return how many orders.

    `n_waiting` is the length of each play queue at this moment. Only reports older than the mark
    are known to be recorded, so only times before the mark are judged, and nothing while it lags.
    """
    mark = marks.recorded_until(now=now)
    if mark is None:
        return 0
    expired = Order.objects.filter(Order.is_open(), deadline_at__lt=mark)
    n_lost = sum(lose_order(order, reason=Reason.EXPIRED, now=now) > 0 for order in expired)
    return n_lost + sum(
        _lose_vanished(queue, mark, n_waiting=length, now=now)
        for queue, length in n_waiting.items()
    )


def _lose_vanished(queue: str, mark: datetime, *, n_waiting: int, now: datetime) -> int:
    """Give up orders that left the queue and were never started: their node died with them."""
    queued = _open_orders(queue, Order.State.QUEUED)
    vanished = _overtaken(queue, mark)
    if n_waiting:
        queued.exclude(missed_at=None).update(missed_at=None)
    else:
        vanished += queued.filter(missed_at__lt=mark - POPPED_GRACE)
        queued.filter(missed_at=None).update(missed_at=now)
    return sum(lose_order(order, reason=Reason.EXPIRED, now=now) > 0 for order in vanished)


def _overtaken(queue: str, mark: datetime) -> list[Order]:
    """Return queued orders older than one started a while ago: queues are first in, first out."""
    started = _open_orders(queue, Order.State.PLAYING).filter(started_at__lt=mark - POPPED_GRACE)
    newest = started.order_by("-pk").values_list("pk", flat=True).first()
    if newest is None:
        return []
    return list(_open_orders(queue, Order.State.QUEUED).filter(pk__lt=newest))


def _open_orders(queue: str, state: Order.State) -> QuerySet[Order]:
    return Order.objects.filter(Order.is_open(), queue=queue, state=state)
