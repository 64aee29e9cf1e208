"""Datasets begin and are deleted here."""

import re
from dataclasses import asdict
from datetime import datetime
from functools import partial
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.files.storage import storages
from django.db import IntegrityError, transaction

from arena.errors import ArenaError
from arena.games import registry as games
from arena.trajectories import TrajectorySpec
from experience.datasets import trajectories, uploads
from experience.datasets.building import name_shard
from experience.datasets.queries import NewDataset
from experience.models import Dataset, DatasetSource, Segment, TrainingRun
from experience.segment_files import STORAGE
from matches.errors import BadInputError, ConflictError
from matches.models import Agent, Leaderboard
from matches.store import auditing
from matches.store.auditing import Actor

BEGIN, DELETE = "dataset.begin", "dataset.delete"
NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
OF_UPLOADS: Final = ("users", "min_version", "max_version", "min_return", "max_return")
OF_MATCHES: Final = ("leaderboard", "tournaments", "agents", "top", "opponents", "results")
_TIMES: Final = ("since", "until")
SHARD_BYTES: Final = 2**28
"""Of observations in memory while a shard is written."""


def begin_dataset(new: NewDataset, *, actor: Actor, now: datetime) -> Dataset:
    """Return a new dataset, which control will build. Raises BadInputError naming the field."""
    if not NAME.fullmatch(new.name):
        raise BadInputError("name", f"{new.name!r:.80}: 1 to 60 of the characters A-Z a-z 0-9 _ -")
    form = _find_form(new.game)
    _check_bounds(new)
    query = _resolve_query(new)
    segments = _find_segments(new)
    try:
        with transaction.atomic():
            dataset = Dataset.objects.create(
                name=new.name,
                game=new.game,
                source=new.source,
                query=query,
                shard_steps=min(new.shard_steps, max(1, SHARD_BYTES // (8 * form.n_features))),
                created_by=actor.name,
                created_at=now,
            )
            DatasetSource.objects.bulk_create(
                DatasetSource(dataset=dataset, segment=segment) for segment in segments
            )
            auditing.add_audit_row(
                BEGIN, actor=actor, targets=[dataset], reason="", touched={}, now=now
            )
    except IntegrityError as error:
        if Dataset.objects.filter(name=new.name).exists():
            problem = f"there is a dataset {new.name!r} already: choose another name"
            raise BadInputError("name", problem) from error
        raise ConflictError("segments were joined or deleted at this moment: again") from error
    return dataset


@transaction.atomic
def delete_dataset(dataset: Dataset, *, actor: Actor, now: datetime) -> None:
    """Delete a dataset with its files. Raises ConflictError while a run learns from it."""
    learning = TrainingRun.objects.filter(dataset=dataset, state=TrainingRun.State.RUNNING).first()
    if learning is not None:
        raise ConflictError(f"run {learning} learns from dataset {dataset}: stop it first")
    names = [name_shard(dataset.name, shard.sha256) for shard in dataset.shards.exclude(sha256="")]
    auditing.add_audit_row(DELETE, actor=actor, targets=[dataset], reason="", touched={}, now=now)
    dataset.delete()
    # Behind the rows: a row never names a file that is gone.
    for name in names:
        transaction.on_commit(partial(storages[STORAGE].delete, name))


def _find_form(game: str) -> TrajectorySpec:
    try:
        return TrajectorySpec.of_game(games.get(game).spec)
    except ArenaError as error:
        raise BadInputError("game", str(error)) from error


def _check_bounds(new: NewDataset) -> None:
    for low, high in (("min_version", "max_version"), ("min_return", "max_return")):
        least, most = getattr(new, low), getattr(new, high)
        if least is not None and most is not None and least > most:
            raise BadInputError(low, f"is {least}, more than {high}, {most}")
    if new.since is not None and new.until is not None and new.since >= new.until:
        raise BadInputError("since", f"is {new.since}, not before until, {new.until}")


def _find_segments(new: NewDataset) -> list[Segment]:
    if new.source != Dataset.Source.EXPERIENCE:
        return []
    segments = uploads.find_segments(new.game, since=new.since, until=new.until)
    if not segments:
        raise BadInputError("game", f"no uploads of {new.game} are in files of that time")
    return segments


def _resolve_query(new: NewDataset) -> dict[str, Any]:
    is_uploaded = new.source == Dataset.Source.EXPERIENCE
    own, others = (OF_UPLOADS, OF_MATCHES) if is_uploaded else (OF_MATCHES, OF_UPLOADS)
    for name in others:
        if getattr(new, name) not in (None, (), ""):
            raise BadInputError(name, f"is not asked of {new.source}")
    fields = asdict(new)
    query: dict[str, Any] = {name: fields[name] for name in (*own, "most_steps")}
    query |= {name: fields[name].isoformat() if fields[name] else None for name in _TIMES}
    return query | (_resolve_users(new) if is_uploaded else _resolve_matches(new))


def _resolve_users(new: NewDataset) -> dict[str, Any]:
    users = dict(
        get_user_model().objects.filter(username__in=new.users).values_list("username", "pk")
    )
    if unknown := sorted(set(new.users) - users.keys()):
        raise BadInputError("users", f"there is no user {unknown[0]!r}")
    return {"users": sorted(new.users), "user_keys": sorted(users.values())}


def _resolve_matches(new: NewDataset) -> dict[str, Any]:
    board = Leaderboard.objects.filter(name=new.leaderboard).first() if new.leaderboard else None
    if new.leaderboard and (board is None or board.game != new.game):
        raise BadInputError("leaderboard", f"there is no board {new.leaderboard!r} of {new.game}")
    if odd := sorted(set(new.results) - set(trajectories.RESULTS)):
        choices = ", ".join(trajectories.RESULTS)
        raise BadInputError("results", f"has {odd[0]!r}: they are {choices}")
    agents = trajectories.resolve_agents(new.game, new.agents, field="agents")
    if new.top is not None:
        agents = sorted({*agents, *trajectories.resolve_top(board, new.top)})
    opponents = trajectories.resolve_agents(new.game, new.opponents, field="opponents")
    names = Agent.objects.filter(pk__in=agents).order_by("name").values_list("name", flat=True)
    # As they are now: the best of a board are others tomorrow.
    return {"agents": list(names), "agent_keys": agents, "opponent_keys": opponents}
