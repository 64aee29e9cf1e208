"""Control builds datasets bit by bit: first the plan, then a shard after the other.

Killed anywhere it goes on: a plan is written whole or not at all, and a shard follows from its plan
alone, so that written again it has the same bytes and the same name.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
from django.db import DatabaseError, transaction
from django.db.models import Sum

from arena.errors import ArenaError
from arena.experience.datasets import write_shard
from arena.games import registry as games
from arena.trajectories import TrajectorySpec
from experience import segment_files
from experience.datasets import trajectories, uploads
from experience.models import Dataset, DatasetShard, DatasetSource
from matches.errors import MatchError

BUDGET_S: Final = 0.5
"""Of one tick of control: so long shards are begun."""
log = logging.getLogger(__name__)
_States = Dataset.State


def build_datasets(*, now: datetime, clock_s: Callable[[], float]) -> int:
    """Do a bit of the oldest datasets that are not ready; return how many shards were written."""
    until_s, n_written, waiting = clock_s() + BUDGET_S, 0, set[int]()
    unready = Dataset.objects.filter(state__in=(_States.PLANNING, _States.BUILDING))
    while clock_s() < until_s:
        # Those that cannot go on now hold up no other one.
        dataset = unready.exclude(pk__in=waiting).last()
        if dataset is None:
            break
        try:
            n_written += _advance_dataset(dataset, now=now)
        except (MatchError, ArenaError) as error:
            _fail_dataset(dataset, str(error))
        except OSError as error:  # a full disk, a storage that is away: at the next tick again
            waiting.add(dataset.pk)
            _note_problem(dataset, f"it waits: {error}")
        else:
            _note_problem(dataset, "")
    return n_written


def read_form(dataset: Dataset) -> TrajectorySpec:
    """Return the form of its rows. Raises ArenaError where its game is not here."""
    return TrajectorySpec.of_game(games.get(dataset.game).spec)


def name_shard(dataset: str, digest: str) -> str:
    """Return the name of a shard in the storage."""
    return f"{segment_files.DATASETS}/{dataset}/{digest}.parquet"


def _advance_dataset(dataset: Dataset, *, now: datetime) -> bool:
    """Take one step; say whether it wrote a shard."""
    form = read_form(dataset)
    if dataset.state == _States.PLANNING:
        _plan_shards(dataset, form, now=now)
        return False
    shard = dataset.shards.filter(sha256="").first()
    if shard is None:
        _finish_dataset(dataset, now=now)
        return False
    _write_shard(shard, form)
    return True


def _plan_shards(dataset: Dataset, form: TrajectorySpec, *, now: datetime) -> None:
    if dataset.source == Dataset.Source.EXPERIENCE:
        plans, n_unfinished = uploads.plan_shards(dataset, form)
    else:
        plans, n_unfinished = trajectories.plan_shards(dataset, now=now), 0
    if not plans:
        unfinished = f"; {n_unfinished} steps are of unfinished episodes" if n_unfinished else ""
        _fail_dataset(dataset, f"nothing fits it{unfinished}")
        return
    with transaction.atomic():
        # The lock: of two ticks one plans it.
        if _change_state(
            dataset,
            _States.BUILDING,
            n_steps_unfinished=n_unfinished,
            n_episodes=sum(shard.n_episodes for shard in plans),
            n_steps=sum(shard.n_steps for shard in plans),
        ):
            DatasetShard.objects.bulk_create(
                DatasetShard(dataset=dataset, **vars(shard)) for shard in plans
            )


def _write_shard(shard: DatasetShard, form: TrajectorySpec) -> None:
    file = BytesIO()
    n_steps = write_shard(file, _read_tables(shard, form), form)
    content = file.getvalue()
    digest = sha256(content).hexdigest()
    name = name_shard(shard.dataset.name, digest)
    segment_files.store_file(name, content)
    with transaction.atomic():
        segment_files.claim_file(name)
        DatasetShard.objects.filter(pk=shard.pk, sha256="").update(
            sha256=digest, n_steps=n_steps, n_bytes=len(content), plan=[]
        )


def _read_tables(shard: DatasetShard, form: TrajectorySpec) -> list[pa.Table]:
    if shard.dataset.source == Dataset.Source.EXPERIENCE:
        return uploads.read_tables(shard.plan, form, first_episode=shard.first_episode)
    return trajectories.read_tables(shard.plan, form, first_episode=shard.first_episode)


@transaction.atomic
def _finish_dataset(dataset: Dataset, *, now: datetime) -> None:
    # Of matches it is known only now how many decisions there were.
    counts = dataset.shards.aggregate(n_bytes=Sum("n_bytes"), n_steps=Sum("n_steps"))
    _change_state(dataset, _States.READY, ready_at=now, **counts)


@transaction.atomic
def _fail_dataset(dataset: Dataset, problem: str) -> None:
    log.error("dataset %s has failed: %s", dataset, problem)
    _change_state(dataset, _States.FAILED, problem=problem[:500])


def _note_problem(dataset: Dataset, problem: str) -> None:
    """Say why a dataset waits; empty: it goes on."""
    shortened = problem[:500]
    if shortened == dataset.problem:
        return
    if shortened:
        log.error("dataset %s: %s", dataset, shortened)
    # On a disk that is full SQLite does not take it either, and the log has it.
    with suppress(DatabaseError):
        Dataset.objects.filter(pk=dataset.pk).exclude(state=_States.FAILED).update(
            problem=shortened
        )


def _change_state(dataset: Dataset, state: Dataset.State, **changes: Any) -> bool:
    """Change the state of a dataset, unless somebody else has changed it since it was read."""
    if not Dataset.objects.filter(pk=dataset.pk, state=dataset.state).update(
        state=state, **changes
    ):
        return False
    if state in (_States.READY, _States.FAILED):
        # From here on its sources may be deleted: its shards are copies.
        DatasetSource.objects.filter(dataset=dataset).delete()
    return True
