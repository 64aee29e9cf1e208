"""Reports of trainers: the first valid one counts, what else comes is told in the log."""

import logging
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from arena.checkpoints import Seal, inspect_file
from arena.credentials import trainer_key
from arena.errors import CheckpointFileError, MessageError
from arena.train_messages import Alive, Trained, read_alive, read_trained
from experience.models import Release, TrainingRun
from experience.runs import files
from experience.runs.ordering import LEASE
from experience.runs.snapshots import expire_snapshots
from matches.store import blobs
from matches.store.formats import hide_folders
from matches.store.signing import is_same_token

log = logging.getLogger(__name__)

MAX_PROBLEM: Final = 500


class _Weights(NamedTuple):
    seal: Seal
    n_bytes: int


def record_report(report: object, *, now: datetime) -> bool:
    """Take a report; say whether it was taken. Safe to deliver twice."""
    try:
        trained = read_trained(report)
    except MessageError as error:
        log.warning("report of a trainer refused: %s", error)
        return False
    run = _find_run(trained)
    if run is None:
        return False
    if trained.is_given_up:
        return _note_fault(run, trained) if trained.refusal else _take_back(run, trained, now=now)
    try:
        weights = _inspect_weights(run, trained)
        if trained.state and not files.has_file(run.name, trained.state):
            raise CheckpointFileError(f"there is no state {trained.state}")
    except CheckpointFileError as error:
        return _write_report(
            run, trained, None, problem=f"what its trainer put is refused: {error}", now=now
        )
    return _write_report(run, trained, weights, problem=trained.refusal, now=now)


def _take_back(run: TrainingRun, report: Trained, *, now: datetime) -> bool:
    """Order a slice anew that its trainer has given up, for no fault of the run's; keep why."""
    own = TrainingRun.objects.filter(pk=run.pk, state=TrainingRun.State.RUNNING, order=run.order)
    problem = _clean_problem(hide_folders(report.waits_for)) or run.problem
    return bool(own.update(order=None, leased_until=None, reported_at=now, problem=problem))


def _note_fault(run: TrainingRun, report: Trained) -> bool:
    """Keep what broke a slice: it is lost, and ordered anew like one whose trainer has died."""
    own = TrainingRun.objects.filter(pk=run.pk, state=TrainingRun.State.RUNNING, order=run.order)
    # Every reader sees it; the log of the trainer tells where its files lie.
    problem = _clean_problem(hide_folders(report.refusal))
    return bool(own.update(problem=problem, trainer=report.trainer[:60]))


def _clean_problem(problem: str) -> str:
    # No database takes NUL or half a letter (a lone surrogate).
    return problem[:MAX_PROBLEM].replace("\0", " ").encode(errors="replace").decode()


def extend_lease(sign: object, *, now: datetime) -> bool:
    """Take a sign of life; say whether it was taken.

    It is no report: a trainer that always ends before its first one is given up in time.
    """
    try:
        alive = read_alive(sign)
    except MessageError as error:
        log.warning("sign of life of a trainer refused: %s", error)
        return False
    run = _find_run(alive)
    if run is None:
        return False
    own = TrainingRun.objects.filter(pk=run.pk, state=TrainingRun.State.RUNNING, order=run.order)
    changes = {"trainer": alive.trainer[:60], "reported_at": now, "leased_until": now + LEASE}
    return bool(own.update(**changes))


def _find_run(report: Trained | Alive) -> TrainingRun | None:
    """Return the run whose slice under way somebody speaks of, if he may."""
    run = TrainingRun.objects.filter(name=report.run).first()
    if run is None or not _is_of_trainer(run, report):
        log.warning(
            "what %s says of run %s without its token is refused", report.trainer, report.run
        )
        return None
    if (run.state, run.order) != (TrainingRun.State.RUNNING, UUID(report.order)):
        log.info("what %s says of run %s is late: its slice is over", report.trainer, run)
        return None
    return run


def _is_of_trainer(run: TrainingRun, report: Trained | Alive) -> bool:
    is_trainer = is_same_token(trainer_key(settings.SECRET_KEY), report.key)
    return is_trainer and is_same_token(run.token, report.token)


def _inspect_weights(run: TrainingRun, report: Trained) -> _Weights | None:
    if not report.weights:
        return None
    if Release.objects.filter(run=run, version=report.version).exists():
        return None  # of a slice that was lost: its version is out, whoever has it keeps it
    with files.copy_weights(run, report.weights) as path:
        seal = inspect_file(path).seal
        assert seal is not None
        return _Weights(seal, path.stat().st_size)


@transaction.atomic
def _write_report(
    run: TrainingRun, report: Trained, weights: _Weights | None, *, problem: str, now: datetime
) -> bool:
    own = TrainingRun.objects.filter(
        pk=run.pk, state=TrainingRun.State.RUNNING, order=run.order, slice=report.slice
    )
    if not problem:
        # Its steps go back after a lost slice, but within one an older report must not come last.
        own = own.filter(Q(reported_slice__lt=report.slice) | Q(n_steps__lte=report.n_steps))
    if not own.update(**_list_changes(run, report, problem, now=now)):
        return False
    if weights is not None:
        _add_release(run, report, weights, now=now)
    if report.state not in ("", run.state_sha256) and not problem:
        _forget_state(run)
    return True


def _list_changes(
    run: TrainingRun, report: Trained, problem: str, *, now: datetime
) -> dict[str, Any]:
    states = TrainingRun.State
    changes: dict[str, Any] = {
        "n_steps": report.n_steps,
        "version": max(run.version, report.version),
        "trainer": report.trainer[:60],
        "reported_at": now,
        "leased_until": now + LEASE,
        "reported_slice": report.slice,
    }
    if report.is_last or report.weights or report.state not in ("", run.state_sha256):
        # Not at its first sign: what always dies after that would be ordered for ever.
        changes |= {"n_lost": 0, "problem": ""}
    if report.metrics:
        changes["metrics"] = report.metrics
    if report.state:
        changes["state_sha256"] = report.state
    if problem:
        changes |= {"state": states.FAILED, "problem": _clean_problem(problem)}
        # A refusal has none, and of what is refused the run does not go on.
        for name in ("n_steps", "version", "state_sha256"):
            changes.pop(name, None)
    elif report.is_last and report.n_steps >= run.max_steps:
        changes["state"] = states.DONE
    if report.is_last or problem:
        changes |= {"order": None, "leased_until": None}
    if "state" in changes:
        changes["ended_at"] = now
    return changes


def _add_release(run: TrainingRun, report: Trained, weights: _Weights, *, now: datetime) -> None:
    Release.objects.create(
        run=run,
        version=report.version,
        sha256=report.weights,
        n_bytes=weights.n_bytes,
        n_steps=report.n_steps,
        metrics=report.metrics,
        architecture=weights.seal.architecture,
        parameters=weights.seal.parameters,
        created_at=now,
    )
    expire_snapshots(run)


def _forget_state(run: TrainingRun) -> None:
    """Delete the state before, once the new one is named by its row."""
    if run.state_sha256:
        name = files.name_file(run.name, run.state_sha256)
        transaction.on_commit(lambda: blobs.delete_file(name, storage=files.STORAGE))
