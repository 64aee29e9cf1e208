"""Rows that several tests need."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from safetensors.numpy import save_file

from arena.checkpoints import Seal, write_sealed
from arena.credentials import trainer_key
from arena.games import registry as games
from arena.train_messages import Alive, Trained, to_wire
from experience.models import Dataset, DatasetShard, Release, Segment, TrainingRun
from experience.runs import files, ordering
from experience.runs.starting import NewRun, start_run
from matches.store.auditing import Actor

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACTOR = Actor("ann")


def later(seconds: float) -> datetime:
    """Return the moment so many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def begun(name: str = "poles", game: str = "cart_pole", **terms: Any) -> TrainingRun:
    """Return a run that has just begun."""
    return start_run(NewRun(name, game, **terms), actor=ACTOR, now=NOW)


def sealed(folder: Path, *, seed: int = 0, game: str = "cart_pole") -> bytes:
    """Return a sealed file of weights; other seeds have other content."""
    values = np.random.default_rng(seed).standard_normal((8, 4), dtype=np.float32)
    plain, file = folder / f"{seed}.plain", folder / f"{seed}.safetensors"
    save_file({"body.weight": values}, plain)
    spec = games.get(game).spec
    seal = Seal("mlp", {"hidden": "8"}, game, spec.observation_shape, spec.n_actions)
    write_sealed(plain, file, seal)
    return file.read_bytes()


def put(run: TrainingRun, content: bytes) -> str:
    """Store a file of a run as its trainer does; return its hash."""
    digest = sha256(content).hexdigest()
    files.store_file(run.name, digest, BytesIO(content), n_bytes=len(content))
    return digest


def ordered(run: TrainingRun, *, at_s: float = 0) -> TrainingRun:
    """Return the run with a slice that control has ordered."""
    ordering.order_due_slices(now=later(at_s))
    run.refresh_from_db()
    return run


def report(run: TrainingRun, **fields: Any) -> dict[str, Any]:
    """Return a report on the slice of a run that is under way."""
    assert run.order is not None
    terms: dict[str, Any] = {
        **{"trainer": "train-1", "run": run.name, "order": run.order.hex, "slice": run.slice},
        **{"token": run.token, "key": trainer_key(settings.SECRET_KEY), "is_last": False},
        **{"version": 0, "n_steps": 100, "weights": "", "state": "", "metrics": {}},
    }
    return to_wire(Trained(**{**terms, **fields}))


def alive(run: TrainingRun, **fields: Any) -> dict[str, Any]:
    """Return the sign of life of a trainer that has the slice under way."""
    assert run.order is not None
    key = trainer_key(settings.SECRET_KEY)
    sign = Alive("train-2", run.name, run.order.hex, run.slice, run.token, key)
    return {**to_wire(sign), **fields}


def published(run: TrainingRun, version: int, state: str, **columns: Any) -> Release:
    """Return a version of a run."""
    terms: dict[str, Any] = {"sha256": f"{version:064x}", "n_bytes": 1, "n_steps": 100 * version}
    return Release.objects.create(
        run=run, version=version, state=state, created_at=NOW, **{**terms, **columns}
    )


def ended(version: int, name: str = "before", **columns: Any) -> TrainingRun:
    """Return a run that has published so many versions and is over."""
    terms: dict[str, Any] = {
        **vars(NewRun(name, "cart_pole")),
        **{"version": version, "state": TrainingRun.State.DONE, "is_closed": True},
        **{"created_by": ACTOR.name, "created_at": NOW, "ended_at": NOW},
    }
    return TrainingRun.objects.create(**{**terms, **columns})


def listed_segment(**columns: Any) -> Segment:
    """Return the row of a segment whose file nobody reads."""
    terms: dict[str, Any] = {
        **{"game": "cart_pole", "first_id": "1-0", "last_id": "2-0", "path": "cart_pole/1"},
        **{"sha256": "0" * 64, "n_rows": 1, "n_bytes": 1, "created_at": NOW},
        **{"min_policy_version": 0, "max_policy_version": 0},
    }
    return Segment.objects.create(**{**terms, **columns})


def listed_dataset(name: str, **columns: Any) -> Dataset:
    """Return a dataset that is ready, of one shard whose file nobody reads."""
    terms: dict[str, Any] = {
        **{"game": "cart_pole", "source": Dataset.Source.EXPERIENCE, "shard_steps": 1},
        **{"state": Dataset.State.READY, "n_episodes": 1, "n_steps": 1, "created_at": NOW},
    }
    dataset = Dataset.objects.create(name=name, **{**terms, **columns})
    counts = {"first_episode": 0, "n_episodes": 1, "n_steps": 1, "n_bytes": 1}
    DatasetShard.objects.create(
        dataset=dataset, number=0, plan=[], sha256=f"{dataset.pk:064x}", **counts
    )
    return dataset
