"""Calls that a client may send again under the same key: run once, answered alike every time."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from matches.errors import ConflictError, RepeatedKeyError
from matches.models import IdempotencyKey

KEPT = timedelta(days=1)
"""So long an answer is given again."""
UNANSWERED = timedelta(minutes=15)
"""A call that is not answered after this was lost with its process; the next one runs."""
FORGOTTEN_AT_ONCE = 100


@dataclass(frozen=True)
class Call:
    """Whose call it is, under which key, and the SHA-256 of what it asks for."""

    user: int
    key: str
    fingerprint: str


@dataclass(frozen=True)
class Answer:
    """What was answered; the body as JSON."""

    status: int
    body: str


def claim_key(call: Call, *, now: datetime) -> Answer | None:
    """Return the answer that was given before; None: the caller is the one that runs.

    Raises RepeatedKeyError when the key stands for another call, ConflictError while the first one
    is under way.
    """
    _forget_old_keys(call, now=now)
    key = IdempotencyKey(
        user_id=call.user, key=call.key, fingerprint=call.fingerprint, created_at=now
    )
    try:
        # The unique key decides who runs; a savepoint, as PostgreSQL gives up the transaction else.
        with transaction.atomic():
            key.save()
    except IntegrityError:
        return _find_earlier_answer(call)
    return None


def store_answer(call: Call, answer: Answer) -> None:
    """Keep the answer; in the transaction of what was done, both are there or neither."""
    _filter_keys(call).update(status=answer.status, body=answer.body)


def release_key(call: Call) -> None:
    """Let the next call under the key run: this one was refused and has left nothing behind."""
    _filter_keys(call).filter(status=None).delete()


def _find_earlier_answer(call: Call) -> Answer | None:
    earlier = _filter_keys(call).first()
    if earlier is not None and earlier.fingerprint != call.fingerprint:
        raise RepeatedKeyError(f"the key {call.key!r} stands for another call: choose a new one")
    if earlier is None or earlier.status is None:
        raise ConflictError(f"the first call under the key {call.key!r} is under way: ask again")
    return Answer(earlier.status, earlier.body)


def _forget_old_keys(call: Call, *, now: datetime) -> None:
    _filter_keys(call).filter(created_at__lte=now - KEPT).delete()
    # Lost with its process: the call may run now.
    _filter_keys(call).filter(created_at__lte=now - UNANSWERED, status=None).delete()
    # A few of everybody's with each call, so that no duty of control has to clean up.
    old = IdempotencyKey.objects.filter(created_at__lte=now - KEPT).order_by("created_at")
    IdempotencyKey.objects.filter(
        pk__in=list(old.values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
    ).delete()


def _filter_keys(call: Call) -> QuerySet[IdempotencyKey]:
    return IdempotencyKey.objects.filter(user=call.user, key=call.key)
