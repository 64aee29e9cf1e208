"""Give up orders that nobody plays any more, so that their matches are tried again."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db.models import QuerySet

from arena.messages import Reason
from matches import selectors
from matches.leases import POPPED_GRACE, POPPED_LIMIT
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
    vanished = _overtaken(queue, mark, now=now)
    if n_waiting:
        queued.exclude(missed_at=None).update(missed_at=None)
    else:
        missed = queued.exclude(missed_at=None)
        vanished += _before(_silent_since(queue, mark, now=now), missed) if missed else []
        queued.filter(missed_at=None).update(missed_at=now)
    return sum(lose_order(order, reason=Reason.EXPIRED, now=now) > 0 for order in vanished)


def _before(time: datetime, missed: Iterable[Order]) -> list[Order]:
    return [order for order in missed if order.missed_at and order.missed_at < time]


def _silent_since(queue: str, mark: datetime, *, now: datetime) -> datetime:
    """Return the time before which an order must have been taken to be lost by now."""
    heard = min((node.last_seen_at for node in selectors.takers(queue, now=now)), default=mark)
    return max(min(mark, heard) - POPPED_GRACE, mark - POPPED_LIMIT)


def _overtaken(queue: str, mark: datetime, *, now: datetime) -> list[Order]:
    """Return queued orders older than one started a while ago: queues are first in, first out."""
    queued = _open_orders(queue, Order.State.QUEUED)
    oldest = queued.order_by("pk").values_list("pk", flat=True).first()
    if oldest is None:
        return []
    since = _silent_since(queue, mark, now=now)
    started = _open_orders(queue, Order.State.PLAYING).filter(pk__gt=oldest, started_at__lt=since)
    newest = started.order_by("-pk").values_list("pk", flat=True).first()
    return [] if newest is None else list(queued.filter(pk__lt=newest))


def _open_orders(queue: str, state: Order.State) -> QuerySet[Order]:
    return Order.objects.filter(Order.is_open(), queue=queue, state=state)
