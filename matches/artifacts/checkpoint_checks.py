"""Checks of checkpoints: control orders them on the gpu queue, the recorder takes the verdicts."""

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from arena.credentials import gpu_key
from arena.errors import ArenaError
from arena.games import registry as games
from arena.message_tokens import checkpoint_token
from arena.messages import Checked, CheckOrder
from matches import dispatch
from matches.errors import BrokerError
from matches.models import Agent, Checkpoint
from matches.models.choices import Placement, is_in_state
from matches.store import blobs, selectors, signing
from matches.store.signing import derive_key, is_same_token

log = logging.getLogger(__name__)

# A check without a verdict is ordered again after this: three times its limit.
ASK_AGAIN = timedelta(seconds=30)
# So many checks wait per gpu worker that they are done before they would be ordered again.
ASKED_PER_WORKER = 2
# After so many checks without a verdict a checkpoint is refused: it may be what ends the workers.
MAX_ASKED = 10


def order_due_checks(*, now: datetime) -> int:
    """Order the checks that are due while a gpu worker is alive; return how many were sent."""
    n_workers = len(selectors.list_alive_gpu_workers(now=now))
    if not n_workers:
        return 0
    # A time in the future is of a clock that was set back since: such a check is due.
    is_under_way = Q(asked_at__gte=now - ASK_AGAIN, asked_at__lte=now)
    checking = _filter_checking()
    n_free = ASKED_PER_WORKER * n_workers - checking.filter(is_under_way).count()
    due = checking.exclude(is_under_way, asked_at__isnull=False).order_by("n_asked", "pk")
    return sum(_order_check(checkpoint, now=now) for checkpoint in due[: max(0, n_free)])


@transaction.atomic
def record_verdict(report: Checked, *, now: datetime) -> None:
    """Take the first verdict on a checkpoint; refuse one without its token."""
    if not is_same_token(checkpoint_token(derive_key(), report.checkpoint), report.token):
        log.warning("verdict on %s from %s without its token refused", report.checkpoint, report)
        return
    checkpoint = Checkpoint.objects.filter(sha256=report.checkpoint).first()
    if checkpoint is None:
        log.warning("verdict on %s, which is not here, refused", report.checkpoint)
        return
    if report.refusal:
        # PostgreSQL takes no NUL in a text.
        _refuse_checkpoint(checkpoint, report.refusal.replace("\0", " "), now=now)
        return
    is_small = report.row_ms < settings.EVALSITE_LOCAL_MS
    measured = Placement.LOCAL if is_small else Placement.GPU
    is_ready = _write_verdict(
        checkpoint,
        Checkpoint.State.READY,
        n_parameters=report.n_parameters,
        state_size=report.state_size,
        row_ms=report.row_ms,
        measured_placement=measured,
        checked_at=now,
    )
    if is_ready:
        placement = checkpoint.forced_placement or measured
        Agent.objects.filter(checkpoint=checkpoint).update(placement=placement)


def adopt_verdict(checkpoint: Checkpoint, earlier: Checkpoint) -> bool:
    """Let a checkpoint be ready as an earlier one is whose network differs in nothing but weights.

    For versions that our own trainers publish by the minute: a check starts a process with torch,
    which takes longer than they play. Say whether they are so alike and the earlier one is ready.
    """
    alike = ("game", "architecture", "parameters", "n_bytes")
    is_alike = all(getattr(checkpoint, field) == getattr(earlier, field) for field in alike)
    if not is_alike or earlier.state != Checkpoint.State.READY:
        return False
    measured_fields = ("n_parameters", "state_size", "row_ms", "measured_placement", "checked_at")
    fields = {field: getattr(earlier, field) for field in measured_fields}
    if not _write_verdict(checkpoint, Checkpoint.State.READY, **fields):
        return False
    placement = checkpoint.forced_placement or earlier.measured_placement
    Agent.objects.filter(checkpoint=checkpoint).update(placement=placement)
    return True


def _refuse_checkpoint(checkpoint: Checkpoint, reason: str, *, now: datetime) -> None:
    if _write_verdict(checkpoint, Checkpoint.State.REFUSED, reason=reason[:500], checked_at=now):
        log.warning("checkpoint %s is refused: %s", checkpoint, reason)
        # After the commit: a rollback would leave a checkpoint to be checked without its file.
        transaction.on_commit(lambda: blobs.delete_file(checkpoint.path))


def _write_verdict(checkpoint: Checkpoint, state: Checkpoint.State, **fields: object) -> bool:
    """Write the verdict unless there is one, and have the tournaments that wait for it planned."""
    checking = Checkpoint.objects.filter(pk=checkpoint.pk, state=Checkpoint.State.CHECKING)
    if not checking.update(state=state, **fields):
        return False
    transaction.on_commit(dispatch.wake_planner)
    return True


def _order_check(checkpoint: Checkpoint, *, now: datetime) -> bool:
    if checkpoint.n_asked >= MAX_ASKED:
        _refuse_checkpoint(
            checkpoint,
            f"no verdict came of {MAX_ASKED} checks: look into the log of the gpu worker, then "
            "add the file again",
            now=now,
        )
        return False
    # The conditional UPDATE is the lock: two ticks that overlap order the check once.
    unchanged = _filter_checking().filter(pk=checkpoint.pk, asked_at=checkpoint.asked_at)
    if not unchanged.update(asked_at=now, n_asked=F("n_asked") + 1):
        return False
    return _publish_check(checkpoint, now=now)


def _publish_check(checkpoint: Checkpoint, *, now: datetime) -> bool:
    sha256 = checkpoint.sha256
    try:
        spec = games.get(checkpoint.game).spec
        order = CheckOrder(
            checkpoint=sha256,
            source=signing.sign_link("GET", signing.checkpoint_path(sha256), now=now),
            token=checkpoint_token(derive_key(), sha256),
            game=checkpoint.game,
            n_actions=spec.n_actions,
            observation_shape=list(spec.observation_shape),
            key=gpu_key(settings.SECRET_KEY),
        )
        dispatch.publish_check(order)
    except ArenaError as error:
        _refuse_checkpoint(checkpoint, f"its game cannot be played here: {error}", now=now)
        return False
    except BrokerError as error:
        log.warning("check of %s is taken back: %s", checkpoint, error)
        # A check that was never sent must not count towards MAX_ASKED.
        Checkpoint.objects.filter(pk=checkpoint.pk).update(
            asked_at=checkpoint.asked_at, n_asked=checkpoint.n_asked
        )
        return False
    return True


def _filter_checking() -> QuerySet[Checkpoint]:
    """Return what has no verdict, by the condition of the index checkpoint_checking."""
    return Checkpoint.objects.filter(is_in_state("matches_checkpoint", [Checkpoint.State.CHECKING]))
