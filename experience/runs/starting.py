"""Runs begin and are stopped here; how they go on again is in resuming."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from secrets import token_hex
from typing import Final

from django.conf import settings
from django.db import IntegrityError, transaction

from arena.errors import ArenaError, ParameterError, UnknownNameError
from arena.games import registry as games
from arena.games.base import GameSpec
from arena.pairing.base import COUPLE
from arena.parameters import read_parameters
from arena.train_messages import MAX_FILES
from arena.trainers import registry as trainers
from arena.trainers.base import TrainerSpec
from arena.trainers.networks import check_network
from arena.trainers.ppo import AGAINST, NETWORK
from experience.models import Dataset, TrainingRun
from experience.stream import MISSING
from matches.campaigns.inputs import check_margin
from matches.errors import BadInputError, ConflictError
from matches.ledger.naming import find_agent
from matches.models import Checkpoint
from matches.store import auditing
from matches.store.auditing import Actor

START, STOP = "training_run.start", "training_run.stop"
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True)
class NewRun:
    """What is to be trained, and when a version of it is judged."""

    name: str
    game: str
    algorithm: str = "appo"
    dataset: Dataset | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    max_steps: int = 200_000
    slice_s: float = 60.0
    margin: float = 1.0
    release_s: float = 60.0
    release_steps: int = 50_000
    budget: int = 200


def start_run(new: NewRun, *, actor: Actor, now: datetime) -> TrainingRun:
    """Return a new run, whose first slice control will order.

    Raises BadInputError naming the field, ConflictError where another run learns from the stream.
    """
    trainer, spec = find_trainer(new.algorithm), find_game(new.game)
    parameters = check_parameters(new, trainer)
    _check_name(new.name)
    if not spec.is_scored:
        check_margin(new.margin)
    is_streamed = trainer.is_streamed and new.dataset is None
    check_source(new, trainer, spec, against=parameters.get(AGAINST))
    try:
        with transaction.atomic():
            run = TrainingRun.objects.create(
                **{name: value for name, value in vars(new).items() if name != "parameters"},
                parameters=parameters,
                token=token_hex(32),
                is_streamed=is_streamed,
                has_group=is_streamed,
                created_by=actor.name,
                created_at=now,
            )
            auditing.add_audit_row(
                START, actor=actor, targets=[run], reason="", touched={}, now=now
            )
    except IntegrityError as error:
        raise ConflictError(
            f"a run of that name, or one that learns from {new.game}, began at this moment"
        ) from error
    return run


@transaction.atomic
def stop_run(run: TrainingRun, *, actor: Actor, reason: str, now: datetime) -> bool:
    """End a run that goes on; what it has published stays. Say whether it was this call."""
    running = TrainingRun.objects.filter(pk=run.pk, state=TrainingRun.State.RUNNING)
    stopped = TrainingRun.State.STOPPED
    if not running.update(state=stopped, order=None, leased_until=None, ended_at=now):
        return False
    touched = {"state": [TrainingRun.State.RUNNING.value, stopped.value]}
    auditing.add_audit_row(
        STOP, actor=actor, targets=[run], reason=reason, touched=touched, now=now
    )
    return True


def check_source(new: NewRun, trainer: TrainerSpec, spec: GameSpec, *, against: object) -> None:
    """Refuse a run that has nothing to learn from. Raises BadInputError, ConflictError."""
    if trainer.is_streamed and new.dataset is None:
        _check_stream(new, spec)
    elif trainer.is_offline or new.dataset is not None:
        _check_dataset(new, trainer)
    if trainer.plays_matches:
        _check_matches(new, spec, against=against)


def find_trainer(algorithm: str) -> TrainerSpec:
    """Return a trainer by its name. Raises BadInputError."""
    try:
        return trainers.get(algorithm)
    except UnknownNameError as error:
        raise BadInputError("algorithm", str(error)) from error


def find_game(game: str) -> GameSpec:
    """Return what a game is. Raises BadInputError."""
    try:
        return games.get(game).spec
    except ArenaError as error:
        raise BadInputError("game", str(error)) from error


def check_parameters(new: NewRun, trainer: TrainerSpec) -> dict[str, object]:
    """Return all parameters of a run with their values. Raises BadInputError."""
    try:
        parameters = read_parameters(new.algorithm, trainer.parameters, new.parameters)
        if NETWORK in parameters:
            check_network(new.algorithm, str(parameters[NETWORK]))
    except ParameterError as error:
        raise BadInputError("parameters", str(error)) from error
    return dict(parameters)


def _check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise BadInputError("name", f"{name!r:.80}: 1 to 60 of the characters A-Z a-z 0-9 _ -")
    if TrainingRun.objects.filter(name=name).exists():
        raise BadInputError("name", f"there is a training run {name!r} already: choose another")
    if Checkpoint.objects.filter(run=name).exists():
        raise BadInputError("name", f"there are checkpoints of a run {name!r}: choose another")


def _check_dataset(new: NewRun, trainer: TrainerSpec) -> None:
    """Refuse a run that learns from a dataset where its trainer cannot, or not from this one."""
    if new.dataset is None:
        raise BadInputError("dataset", f"{new.algorithm} learns from a dataset: name one")
    if not trainer.is_offline:
        able = ", ".join(name for name in trainers.names() if trainers.get(name).is_offline)
        raise BadInputError("dataset", f"{new.algorithm} does not learn from one: use {able}")
    if new.dataset.game != new.game:
        raise BadInputError("dataset", f"{new.dataset} is of {new.dataset.game}, not {new.game}")
    if new.dataset.state != Dataset.State.READY:
        raise BadInputError("dataset", f"{new.dataset} is {new.dataset.state}: not ready yet")
    if (n_shards := new.dataset.shards.count()) > MAX_FILES:
        most = f"has {n_shards} shards, more than {MAX_FILES}: build it with a larger shard_steps"
        raise BadInputError("dataset", f"{new.dataset} {most}")


def _check_matches(new: NewRun, spec: GameSpec, *, against: object) -> None:
    """Refuse a run whose versions could not play, or learn from what comes of it."""
    if spec.n_seats != COUPLE or not spec.is_zero_sum or not spec.is_replayable:
        kind = "replayable games of two seats in which one wins what the other loses"
        raise BadInputError("game", f"{new.algorithm} learns from {kind}; {new.game} is none")
    if against is None:
        return
    try:
        agent = find_agent(str(against), game=new.game)
    except (ArenaError, BadInputError) as error:
        raise BadInputError("parameters", f"{AGAINST}: {error}") from error
    if agent.is_retired:
        raise BadInputError("parameters", f"{AGAINST}: {agent.name!r} is retired")


def _check_stream(new: NewRun, spec: GameSpec) -> None:
    """Refuse a run that learns from uploads where none can come, or where another does."""
    if not settings.STREAM_REDIS_URL:
        raise BadInputError("algorithm", f"{new.algorithm} learns from uploads, but {MISSING}")
    if spec.n_seats != 1:
        one_seat = "uploads are of games of one seat"
        raise BadInputError("game", f"{new.game} has {spec.n_seats} seats: {one_seat}")
    learning = TrainingRun.objects.filter(
        game=new.game, state=TrainingRun.State.RUNNING, has_group=True
    ).first()
    if learning is not None:
        raise ConflictError(
            f"run {learning.name!r} learns from the uploads of {new.game}: chunks name the version "
            "of one policy, so stop that run first"
        )
