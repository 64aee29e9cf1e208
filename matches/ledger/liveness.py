"""Play nodes: who is alive, what each has in hand, and what to do when one is lost."""

import logging
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction

from arena.messages import Alive, Reason, Results, Started, order_token
from matches import dispatch
from matches.ledger.attempts import Ended, give_back
from matches.ledger.tournaments import finish_if_closed
from matches.models import Attempt, Match, Order, Worker
from matches.nodes import shares
from matches.store.leases import ALIVE_WITHIN, MATCHES_AT_LIMIT, ORDER_SLACK, PLAYING_LEASE
from matches.store.locks import lock_matches_in_flight, lock_orders
from matches.store.order_tokens import is_same, tournament_secret

log = logging.getLogger(__name__)


@transaction.atomic
def note_alive(report: Alive, *, now: datetime) -> None:
    """Keep what a node says of itself; with a new process of it the old one's orders are lost.

    A second process of the same name that may live beside the first is shown and replaces nothing:
    two nodes would take each other's matches away. What it plays all the same counts.
    """
    before = Worker.objects.filter(node=report.node).first()
    if before is not None and _is_rival(report, before, now=now):
        _note_rival(report, before, now=now)
    else:
        _note_presence(report, now=now)
        # Whoever replaced the first is no rival of itself.
        Worker.objects.filter(node=report.node, rival_incarnation=report.incarnation).update(
            rival_incarnation="", rival_seen_at=None
        )
        if not is_quarantined(report.node):  # else its orders have been taken back
            _lose_orders_of_the_dead(report, before, now=now)
    mine = Order.objects.filter(Order.is_open(), node=report.node, state=Order.State.PLAYING)
    for order in mine.filter(incarnation=report.incarnation, uuid__in=report.orders):
        extend(order, now=now)
    transaction.on_commit(dispatch.wake_relay)


def _is_rival(report: Alive, before: Worker, *, now: datetime) -> bool:
    """Say whether the process that was heard before may live beside the one that reports.

    Not where both are on one machine, which runs one process of a name at a time: a node that was
    restarted is back at once. Elsewhere only silence tells that it is dead.
    """
    if report.incarnation == before.incarnation:
        return False
    if report.place and report.place == before.place:
        return False
    return before.last_seen_at >= now - ALIVE_WITHIN


def _note_rival(report: Alive, before: Worker, *, now: datetime) -> None:
    if before.rival_incarnation != report.incarnation:
        log.error("two nodes call themselves %s: give each its own name and key", report.node)
    Worker.objects.filter(pk=before.pk).update(
        rival_incarnation=report.incarnation, rival_seen_at=now
    )


def _note_presence(report: Alive, *, now: datetime) -> None:
    described = {
        "incarnation": report.incarnation,
        "place": report.place,
        "slots": report.slots,
        "capabilities": list(report.capabilities),
        "versions": report.versions,
        "last_seen_at": now,
    }
    Worker.objects.update_or_create(
        node=report.node,
        defaults=described,
        create_defaults={**described, "first_seen_at": now},
    )


def _lose_orders_of_the_dead(report: Alive, before: Worker | None, *, now: datetime) -> None:
    """Give up what other processes of this node played, but for a rival that was heard lately."""
    alive = {report.incarnation}
    if before and before.rival_seen_at and before.rival_seen_at >= now - ALIVE_WITHIN:
        alive.add(before.rival_incarnation)
    playing = Order.objects.filter(Order.is_open(), node=report.node, state=Order.State.PLAYING)
    lose_orders(playing.exclude(incarnation__in=alive), reason=Reason.NODE_LOST, now=now)


@transaction.atomic
def note_started(report: Started, *, now: datetime) -> None:
    """Note which node plays an order; its matches run now."""
    order = Order.objects.select_related("tournament").filter(uuid=report.order).first()
    if order is None:
        log.warning("start of an unknown order %s from %s refused", report.order, report.node)
        return
    wanted = order_token(tournament_secret(order.tournament), report.order)
    if not is_same(wanted, report.token):
        log.warning("start of order %s without its token refused", report.order)
        return
    if is_quarantined(report.node):
        log.warning("order %s was taken by %s, which is in quarantine", order.pk, report.node)
        take_back(order, now=now)
        return
    started = Order.objects.filter(pk=order.pk, state=Order.State.QUEUED).update(
        state=Order.State.PLAYING,
        node=report.node,
        incarnation=report.incarnation,
        started_at=now,
        deadline_at=now + PLAYING_LEASE,
        hard_deadline_at=now + hard_cap(order),
    )
    if started:
        queued = Match.objects.filter(Match.is_in_flight(), order=order)
        queued.filter(state__in=Match.sources(Match.State.RUNNING)).update(
            state=Match.State.RUNNING
        )


def is_quarantined(*nodes: str) -> bool:
    """Say whether one of these nodes is in quarantine."""
    return Worker.objects.filter(node__in=nodes, quarantined_at__isnull=False).exists()


def take_back(order: Order, *, now: datetime) -> None:
    """Have the matches of an order sent again that a node in quarantine took off its queue.

    Not one that another node plays: it may have been sent to both.
    """
    if order.state == Order.State.QUEUED:
        lose_order(order, reason=Reason.RETURNED, now=now)


def hard_cap(order: Order) -> timedelta:
    """Return how long an order may take at all, however often its node says that it plays it.

    Some times the work that is expected, and a few matches at their limit; never more than all of
    them at it, one after the other, which may be a week: what is left goes to another node.
    """
    n_matches, match_s = order.n_matches, order.tournament.match_s
    expected_s = shares.work_s(n_matches, order.tournament.mean_match_s)
    most_s = ORDER_SLACK * expected_s + MATCHES_AT_LIMIT * match_s
    return timedelta(seconds=min(n_matches * match_s, most_s)) + PLAYING_LEASE


def extend(order: Order, *, now: datetime) -> None:
    """Move the deadline of an order whose node is alive, never past its hard cap."""
    deadline = now + PLAYING_LEASE
    if order.hard_deadline_at is not None:
        deadline = min(deadline, order.hard_deadline_at)
    Order.objects.filter(pk=order.pk, state__in=Order.OPEN).update(deadline_at=deadline)


def end_order(order: Order, report: Results, *, now: datetime) -> int:
    """Close an order with its last report; return how many matches it gives back unplayed."""
    closed = Order.objects.filter(pk=order.pk, state__in=Order.OPEN).update(
        state=Order.State.CLOSED, closed_at=now
    )
    if not closed:
        return 0
    order.state = Order.State.CLOSED  # for the next report of a batch
    return _give_back_rest(
        order, Attempt.Ending.INTERRUPTED, Reason.RETURNED, report.executing, now=now
    )


@transaction.atomic
def lose_orders(orders: Iterable[Order], *, reason: Reason, now: datetime) -> int:
    """Give up orders; return how many of their matches were still in flight."""
    locked = lock_orders([order.pk for order in orders])
    lock_matches_in_flight([order.pk for order in locked])
    in_order = sorted(locked, key=lambda order: (order.tournament_id, order.pk))
    return sum(lose_order(order, reason=reason, now=now) for order in in_order)


@transaction.atomic
def lose_order(order: Order, *, reason: Reason, now: datetime) -> int:
    """Give up an order; return how many of its matches were still in flight. Once only."""
    lost = Order.objects.filter(pk=order.pk, state__in=Order.OPEN).update(
        state=Order.State.LOST, closed_at=now
    )
    if not lost:
        return 0
    log.warning("order %s on %s is lost: %s", order.pk, order.node or "no node", reason.value)
    ending = Attempt.Ending.EXPIRED if reason is Reason.EXPIRED else Attempt.Ending.INTERRUPTED
    n_rest = _give_back_rest(order, ending, reason, order.executing, now=now)
    finish_if_closed([order.tournament_id], now=now)
    transaction.on_commit(dispatch.wake_relay)
    transaction.on_commit(dispatch.wake_rater)
    return n_rest


def _give_back_rest(
    order: Order,
    ending: Attempt.Ending,
    reason: Reason,
    executing: Collection[int],
    *,
    now: datetime,
) -> int:
    rest = Match.objects.filter(Match.is_in_flight(), order=order).order_by("pk")
    rest = rest.select_for_update(no_key=True)
    begun = set(executing)
    ended = [
        Ended(
            match=pk,
            number=attempt,
            ending=ending.value,
            reason=reason.value,
            node=order.node,
            was_executing=pk in begun,
        )
        for pk, attempt in rest.values_list("pk", "attempt")
    ]
    give_back(order.tournament_id, ended, now=now)
    return len(ended)
