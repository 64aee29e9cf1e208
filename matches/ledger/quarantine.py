"""Take an agent, a play node or a game server out of play for a while, and let it back in."""

from datetime import datetime
from typing import TypeVar

from django.db import transaction
from django.db.models import Q

from arena.messages import Reason
from arena.needs import GPU
from arena.queues import play_queue
from matches import dispatch
from matches.errors import ConflictError
from matches.ledger.order_states import lose_orders, take_from_server
from matches.models import Agent, Order, Worker
from matches.store import auditing
from matches.store.auditing import Actor

Row = TypeVar("Row", Agent, Worker)


@transaction.atomic
def quarantine_agent(agent: Agent, *, actor: Actor, reason: str, now: datetime) -> bool:
    """Send no more of its matches; those with nodes are played to their end and count.

    Returns False when it is in quarantine already. Raises BadInputError without a reason.
    """
    return _set_quarantine(agent, "agent.quarantine", actor=actor, reason=reason, now=now)


@transaction.atomic
def release_agent(agent: Agent, *, actor: Actor, reason: str, now: datetime) -> bool:
    """Let its pending matches be sent again; False when it is not in quarantine."""
    return _lift_quarantine(agent, "agent.release", actor=actor, reason=reason, now=now)


@transaction.atomic
def quarantine_worker(worker: Worker, *, actor: Actor, reason: str, now: datetime) -> bool:
    """Take back what it has in hand; from now on what it reports or plays is refused.

    Returns False when it is in quarantine already. Raises BadInputError without a reason,
    ConflictError for a gpu worker.
    """
    if GPU in worker.capabilities:
        raise ConflictError(f"{worker.node} plays nothing: to be rid of it, end its process")
    if not _set_quarantine(worker, "worker.quarantine", actor=actor, reason=reason, now=now):
        return False
    if worker.is_server:
        take_from_server(worker.node, now=now)
        return True
    # Those that it plays and those that wait for it; control deletes its queue.
    in_hand = Q(node=worker.node) | Q(queue=play_queue(worker.node))
    orders = Order.objects.filter(Order.is_open()).filter(in_hand).order_by("pk")
    lose_orders(orders, reason=Reason.RETURNED, now=now)
    return True


@transaction.atomic
def release_worker(worker: Worker, *, actor: Actor, reason: str, now: datetime) -> bool:
    """Let it play again; False when it is not in quarantine."""
    # A game server that is trusted again is not stopped for what it was stopped for.
    Worker.objects.filter(pk=worker.pk, quarantined_at__isnull=False).update(trusted_at=now)
    return _lift_quarantine(worker, "worker.release", actor=actor, reason=reason, now=now)


def _set_quarantine(row: Row, action: str, *, actor: Actor, reason: str, now: datetime) -> bool:
    why = auditing.check_reason(reason)
    playing = type(row).objects.filter(pk=row.pk, quarantined_at=None)
    # The conditional UPDATE decides between two people who ask at once: one writes the audit row.
    is_new = bool(playing.update(quarantined_at=now, quarantine_reason=why))
    row.refresh_from_db(fields=("quarantined_at", "quarantine_reason"))
    if is_new:
        auditing.add_audit_row(action, actor=actor, targets=[row], reason=why, touched={}, now=now)
    return is_new


def _lift_quarantine(row: Row, action: str, *, actor: Actor, reason: str, now: datetime) -> bool:
    quarantined = type(row).objects.filter(pk=row.pk, quarantined_at__isnull=False)
    is_new = bool(quarantined.update(quarantined_at=None, quarantine_reason=""))
    row.refresh_from_db(fields=("quarantined_at", "quarantine_reason"))
    if is_new:
        why = reason.strip()[: auditing.MAX_REASON]
        auditing.add_audit_row(action, actor=actor, targets=[row], reason=why, touched={}, now=now)
        transaction.on_commit(dispatch.wake_relay)
    return is_new
