"""Runs that have ended go on here, from the state that they left."""

from datetime import datetime
from secrets import token_hex
from typing import Final

from django.db import IntegrityError, transaction

from arena.trainers.ppo import AGAINST
from experience.models import TrainingRun
from experience.runs import files
from experience.runs.rounds import forget_newest_round
from experience.runs.starting import NewRun, check_parameters, check_source, find_game, find_trainer
from matches.errors import BadInputError, ConflictError
from matches.store import auditing
from matches.store.auditing import Actor

RESUME: Final = "training_run.resume"


def resume_run(
    run: TrainingRun, *, max_steps: int | None = None, actor: Actor, reason: str, now: datetime
) -> None:
    """Let a run that has ended go on from the state that it left: its versions are numbered on.

    max_steps: it ends once it has learned from so many; None: as it was begun. Raises
    BadInputError, ConflictError.
    """
    most = run.max_steps if max_steps is None else max_steps
    _check_ended(run, max_steps=most)
    running, changes = TrainingRun.State.RUNNING, dict[str, object]()
    changes |= {"problem": "", "order": None, "leased_until": None, "n_lost": 0, "ended_at": None}
    # Uploads wait for it from now on as for one that has just begun.
    changes |= {"reported_at": now, "trainer": ""}
    # Of whoever trained it before, nothing counts any more.
    changes |= {"token": token_hex(32), "has_group": run.is_streamed, "is_closed": False}
    try:
        with transaction.atomic():
            ended = TrainingRun.objects.filter(pk=run.pk, state=run.state)
            if not ended.update(state=running, max_steps=most, **changes):
                raise ConflictError(f"run {run}: somebody else was first")
            forget_newest_round(run, now=now)
            touched = {"state": [run.state, running.value], "max_steps": [run.max_steps, most]}
            auditing.add_audit_row(
                RESUME, actor=actor, targets=[run], reason=reason, touched=touched, now=now
            )
    except IntegrityError as error:
        raise ConflictError(f"a run that learns from {run.game} began at this moment") from error


def _check_ended(run: TrainingRun, *, max_steps: int) -> None:
    """Refuse to resume a run that goes on, or that could not."""
    if run.state == TrainingRun.State.RUNNING:
        raise ConflictError(f"run {run} goes on: only one that has ended can be resumed")
    if max_steps <= run.n_steps:
        problem = f"it has learned from {run.n_steps} steps: name more"
        raise BadInputError("max_steps", f"is {max_steps}, but {problem}")
    if run.state_sha256 and not files.has_file(run.name, run.state_sha256):
        raise ConflictError(f"run {run} cannot go on: the file of its state is gone")
    try:
        trainer, spec = find_trainer(run.algorithm), find_game(run.game)
        if run.dataset is None and not (run.is_streamed or trainer.plays_matches):
            raise BadInputError("dataset", "what it learned from was deleted")
        new = NewRun(run.name, run.game, run.algorithm, run.dataset, run.parameters)
        check_parameters(new, trainer)
        check_source(new, trainer, spec, against=run.parameters.get(AGAINST))
    except BadInputError as error:
        raise ConflictError(f"run {run} cannot go on: {error}") from error
