"""Note what play nodes report of themselves: that they live, and that they began an order."""

import logging
from datetime import datetime, timedelta

from django.db import transaction

from arena.message_tokens import order_token
from arena.messages import Alive, Reason, Started
from arena.needs import SERVER
from matches import dispatch
from matches.ledger.order_states import (
    compute_hard_limit,
    extend_deadline,
    lose_orders,
    take_order_back,
)
from matches.ledger.quarantine import quarantine_worker
from matches.models import Match, Order, Worker
from matches.nodes import node_runs
from matches.nodes.report_keys import note_forged
from matches.store.auditing import CONTROL
from matches.store.clock import ALIVE_WITHIN, PLAYING_LEASE
from matches.store.signing import derive_tournament_key, is_same_token

log = logging.getLogger(__name__)

RENAMED_WITHIN = timedelta(hours=1)
"""Later another machine may have the address."""


@transaction.atomic
def note_alive(report: Alive, *, now: datetime) -> bool:
    """Note a sign of life; where the node's process is new, the old one's orders are lost.

    Returns False where the name belongs to a node of another kind, or to none: nothing is noted.
    """
    stored = Worker.objects.filter(node=report.node).first()
    is_server = SERVER in report.capabilities
    # Of both kinds one has no key of its own: whoever had the name first keeps it.
    if stored is not None and stored.is_server != is_server:
        note_forged(report, now=now)
        return False
    if is_server:
        # It has no orders, and the head lets only one of a name in.
        _note_presence(report, now=now)
        _hold_if_renamed(report, now=now)
    else:
        _note_node(report, stored, now=now)
    return True


def _hold_if_renamed(report: Alive, *, now: datetime) -> None:
    """Put a game server into quarantine that is where one in quarantine was a while ago.

    Also one that is known: it may have had both names before it was stopped under one. Of those
    that the head lends its way the address is made of the name: there a pass for one name alone
    keeps them from another.
    """
    stopped = Worker.objects.filter(
        address=report.address,
        quarantined_at__isnull=False,
        last_seen_at__gte=now - RENAMED_WITHIN,
    ).exclude(node=report.node)
    # Without an address it is sent nothing, and is where every play node is.
    former = stopped.order_by("-last_seen_at").first() if report.address else None
    if former is None or former.quarantined_at is None:
        return
    worker = Worker.objects.get(node=report.node)
    # Whoever let it in again after that is obeyed.
    is_trusted = worker.trusted_at is not None and worker.trusted_at >= former.quarantined_at
    if worker.quarantined_at is not None or is_trusted:
        return
    reason = f"it is at {report.address}, as {former.node} was: {former.quarantine_reason}"
    quarantine_worker(worker, actor=CONTROL, reason=reason[:500], now=now)


def _note_node(report: Alive, stored: Worker | None, *, now: datetime) -> None:
    is_rival = stored is not None and _is_rival(report, stored, now=now)
    if stored is not None and is_rival:
        # Shown, and replaces nothing: two nodes would take each other's matches away. What it
        # plays all the same counts.
        if stored.rival_incarnation != report.incarnation:
            log.error("two nodes call themselves %s: give each its own name and key", report.node)
        Worker.objects.filter(pk=stored.pk).update(
            rival_incarnation=report.incarnation, rival_seen_at=now
        )
    else:
        _note_presence(report, now=now)
        # Whoever replaced the first is no rival of itself.
        Worker.objects.filter(node=report.node, rival_incarnation=report.incarnation).update(
            rival_incarnation="", rival_seen_at=None
        )
        if not is_quarantined(report.node):  # else its orders have been taken back
            _lose_orders_of_the_dead(report, stored, now=now)
    playing = Order.objects.filter(Order.is_open(), node=report.node, state=Order.State.PLAYING)
    for order in playing.filter(incarnation=report.incarnation, uuid__in=report.orders):
        extend_deadline(order, now=now)
    if not is_rival:
        node_runs.note_run(report, now=now)  # locked last, as where orders end
    transaction.on_commit(dispatch.wake_relay)


def _is_rival(report: Alive, stored: Worker, *, now: datetime) -> bool:
    """Say whether the process that reported before may live beside this one."""
    if report.incarnation == stored.incarnation:
        return False
    # A machine runs one process of a name at a time: a node that was restarted is back at once.
    if report.place and report.place == stored.place:
        return False
    # Elsewhere only silence tells that it is dead.
    return stored.last_seen_at >= now - ALIVE_WITHIN


def _note_presence(report: Alive, *, now: datetime) -> None:
    is_server = SERVER in report.capabilities
    described = {
        "incarnation": report.incarnation,
        "place": report.place,
        "slots": report.slots,
        "capabilities": list(report.capabilities),
        "versions": report.versions,
        "labels": report.labels,
        "load": report.load,
        "plugins": report.plugins,
        "game": report.game if is_server else "",
        "address": report.address if is_server else "",
        "last_seen_at": now,
    }
    Worker.objects.update_or_create(
        node=report.node,
        defaults=described,
        create_defaults={**described, "first_seen_at": now},
    )


def _lose_orders_of_the_dead(report: Alive, stored: Worker | None, *, now: datetime) -> None:
    """Mark orders of the node's other processes as lost, except those of a living rival."""
    alive = {report.incarnation}
    if stored and stored.rival_seen_at and stored.rival_seen_at >= now - ALIVE_WITHIN:
        alive.add(stored.rival_incarnation)
    playing = Order.objects.filter(Order.is_open(), node=report.node, state=Order.State.PLAYING)
    lose_orders(playing.exclude(incarnation__in=alive), reason=Reason.NODE_LOST, now=now)


@transaction.atomic
def note_started(report: Started, *, now: datetime) -> None:
    """Note which node plays an order; its matches run now."""
    order = Order.objects.select_related("tournament").filter(uuid=report.order).first()
    if order is None:
        log.warning("start of an unknown order %s from %s refused", report.order, report.node)
        return
    token = order_token(derive_tournament_key(order.tournament), report.order)
    if not is_same_token(token, report.token):
        log.warning("start of order %s without its token refused", report.order)
        return
    if is_quarantined(report.node):
        log.warning("order %s was taken by %s, which is in quarantine", order.pk, report.node)
        take_order_back(order, now=now)
        return
    # Only a queued order starts: this report may come twice, or after the order was given up.
    started = Order.objects.filter(pk=order.pk, state=Order.State.QUEUED).update(
        state=Order.State.PLAYING,
        node=report.node,
        incarnation=report.incarnation,
        started_at=now,
        deadline_at=now + PLAYING_LEASE,
        hard_deadline_at=now + compute_hard_limit(order),
    )
    if started:
        queued = Match.objects.filter(Match.is_in_flight(), order=order)
        queued.filter(state__in=Match.sources(Match.State.RUNNING)).update(
            state=Match.State.RUNNING
        )


def is_quarantined(*nodes: str) -> bool:
    """Say whether one of these nodes is in quarantine."""
    return Worker.objects.filter(node__in=nodes, quarantined_at__isnull=False).exists()
