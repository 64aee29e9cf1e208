"""The states of an order after it was sent: its deadline moves, its node ends it, or it is lost."""

import logging
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db import transaction

from arena.messages import Reason, Results
from arena.queues import play_queue
from matches import dispatch
from matches.ledger import begun_matches, server_reports
from matches.ledger.attempts import EndedAttempt, give_matches_back
from matches.ledger.node_costs import (
    OrderUse,
    book_uses,
    find_last_heard,
    list_safe_times,
    sum_at_risk_s,
)
from matches.ledger.tournaments import finish_if_closed
from matches.models import Attempt, Match, Order
from matches.nodes import fair_shares
from matches.store.bulk import among
from matches.store.clock import MATCHES_AT_LIMIT, ORDER_SLACK, PLAYING_LEASE
from matches.store.locks import lock_matches_in_flight, lock_orders

log = logging.getLogger(__name__)


def take_order_back(order: Order, *, now: datetime) -> None:
    """Send the matches of an order again that a node in quarantine took off its queue."""
    # Not of one that is played: it may have been sent to two nodes.
    if order.state == Order.State.QUEUED:
        lose_order(order, reason=Reason.RETURNED, now=now)


def compute_hard_limit(order: Order) -> timedelta:
    """Return how long an order may take at all, however often its node says that it plays it."""
    # Some times the expected work and a few matches at their limit. All matches at their limit,
    # one after the other, may be a week: what is left by then goes to another node.
    n_matches, match_s = order.n_matches, order.tournament.match_s
    expected_s = fair_shares.estimate_work_s(n_matches, order.tournament.mean_match_s)
    most_s = ORDER_SLACK * expected_s + MATCHES_AT_LIMIT * match_s
    return timedelta(seconds=min(n_matches * match_s, most_s)) + PLAYING_LEASE


def extend_deadline(order: Order, *, now: datetime, **fields: object) -> None:
    """Move the deadline of an order whose node is alive, never past its hard cap; set fields."""
    deadline = now + PLAYING_LEASE
    if order.hard_deadline_at is not None:
        deadline = min(deadline, order.hard_deadline_at)
    open_order = Order.objects.filter(pk=order.pk, state__in=Order.OPEN)
    open_order.update(deadline_at=deadline, **fields)


def note_progress(
    order: Order,
    report: Results,
    told: Iterable[int] = (),
    *,
    ended: Collection[int],
    now: datetime,
) -> int:
    """Note what the node plays; close the order with its last report. Return how many are unplayed.

    The order is locked; a node that does not have it in hand neither closes it nor keeps it open.
    told: matches whose actions are kept.
    ended: its matches of which something was recorded; they take no slot of a game server any more.
    """
    has_in_hand = (
        order.node == report.node if order.node else order.queue == play_queue(report.node)
    )
    if order.state not in Order.OPEN or not has_in_hand:
        return 0
    if not report.is_last:
        executing = report.executing[: order.n_matches]
        order.safe_at_s = list_safe_times(order, executing, told, now=now)
        order.executing = executing  # for the next report of a batch
        fields: dict[str, object] = {"executing": executing, "safe_at_s": order.safe_at_s}
        if order.servers:
            order.servers = fields["servers"] = server_reports.drop_ended(order.servers, ended)
        extend_deadline(order, now=now, **fields)
        return 0
    open_order = Order.objects.filter(pk=order.pk, state__in=Order.OPEN)
    if not open_order.update(state=Order.State.CLOSED, closed_at=now):
        return 0
    order.state, order.closed_at = Order.State.CLOSED, now  # for the next report of a batch
    ending = Attempt.Ending.INTERRUPTED
    return _give_unplayed_back(order, ending, Reason.RETURNED, report.executing, now=now)


@transaction.atomic
def lose_orders(orders: Iterable[Order], *, reason: Reason, now: datetime) -> int:
    """Give up orders; return how many of their matches were still in flight."""
    # In the order of matches.store.locks, then tournaments by key: the recorder locks the same way.
    locked = lock_orders([order.pk for order in orders])
    lock_matches_in_flight([order.pk for order in locked])
    in_order = sorted(locked, key=lambda order: (order.tournament_id, order.pk))
    lost = [_lose_order(order, reason=reason, now=now) for order in in_order]
    book_uses([use for _, use in lost if use])
    return sum(n_unplayed for n_unplayed, _ in lost)


@transaction.atomic
def lose_order(order: Order, *, reason: Reason, now: datetime) -> int:
    """Give up an order; return how many of its matches were still in flight. Once only."""
    n_unplayed, use = _lose_order(order, reason=reason, now=now)
    book_uses([use] if use else [])
    return n_unplayed


def _lose_order(order: Order, *, reason: Reason, now: datetime) -> tuple[int, OrderUse | None]:
    # The conditional UPDATE is the lock: of its last report and the sweep only one closes it.
    lost = Order.objects.filter(pk=order.pk, state__in=Order.OPEN).update(
        state=Order.State.LOST, closed_at=now
    )
    if not lost:
        return 0, None
    log.warning("order %s on %s is lost: %s", order.pk, order.node or "no node", reason.value)
    ending = Attempt.Ending.EXPIRED if reason is Reason.EXPIRED else Attempt.Ending.INTERRUPTED
    n_unplayed = _give_unplayed_back(order, ending, reason, order.executing, now=now)
    finish_if_closed([order.tournament_id], now=now)
    transaction.on_commit(dispatch.wake_relay)
    transaction.on_commit(dispatch.wake_rater)
    until = find_last_heard(order, now=now)
    return n_unplayed, OrderUse(order, until, sum_at_risk_s(order, until=until))


@transaction.atomic
def take_from_server(name: str, *, now: datetime) -> int:
    """Give the matches back that open orders hold of a game server; return how many.

    What other servers play of the same orders goes on.
    """
    open_orders = Order.objects.filter(Order.is_open()).values_list("pk", "servers")
    naming = [pk for pk, servers in open_orders if servers.get(name)]
    locked = [order for order in lock_orders(naming) if order.state in Order.OPEN]
    dealt = {order.pk: order.servers.get(name, []) for order in locked}
    matches = [match for of_order in dealt.values() for match in of_order]
    lock_matches_in_flight([], more=matches)
    ending, n_given_back, uses = Attempt.Ending.INTERRUPTED, 0, list[OrderUse]()
    for order in sorted(locked, key=lambda order: (order.tournament_id, order.pk)):
        begun, own = order.executing, dealt[order.pk]
        n_given_back += _give_unplayed_back(
            order, ending, Reason.RETURNED, begun, now=now, matches=own
        )
        # At least that: how long they were played before their actions were told is not kept.
        uses.append(OrderUse(order, None, sum_at_risk_s(order, until=now, matches=own)))
        Order.objects.filter(pk=order.pk).update(
            servers={**order.servers, name: []}, **_list_executing_without(order, own)
        )
    # Its agents decided by what it showed them: the next attempt goes on from none of that.
    begun_matches.forget_actions(matches)
    finish_if_closed(sorted({order.tournament_id for order in locked}), now=now)
    book_uses(uses)
    transaction.on_commit(dispatch.wake_relay)
    return n_given_back


def _list_executing_without(order: Order, matches: Collection[int]) -> dict[str, list[float]]:
    """Return what an order executes but for these matches: they are thrown away once."""
    executing = zip(order.executing, order.safe_at_s, strict=False)
    left = [(match, safe_s) for match, safe_s in executing if match not in matches]
    return {"executing": [match for match, _ in left], "safe_at_s": [safe_s for _, safe_s in left]}


def _give_unplayed_back(
    order: Order,
    ending: Attempt.Ending,
    reason: Reason,
    executing: Collection[int],
    *,
    now: datetime,
    matches: Collection[int] | None = None,
) -> int:
    """Give back the matches of an order that are in flight, or only these of them."""
    unplayed = Match.objects.filter(Match.is_in_flight(), order=order).order_by("pk")
    if matches is not None:
        unplayed = unplayed.filter(pk__in=among(sorted(matches)))
    unplayed = unplayed.select_for_update(no_key=True)
    attempts, begun = dict(unplayed.values_list("pk", "attempt")), set(executing)
    moved = begun_matches.count_actions(attempts)
    played_by = server_reports.find_servers(order)
    ended = [
        EndedAttempt(
            match=pk,
            number=attempt,
            ending=ending.value,
            reason=reason.value,
            node=order.node,
            was_executing=pk in begun,
            n_steps=moved.get(pk, 0),
            server=played_by.get(pk, ""),
        )
        for pk, attempt in attempts.items()
    ]
    give_matches_back(order.tournament_id, ended, now=now)
    return len(ended)
