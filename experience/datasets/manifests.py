"""What is in a dataset, the same for every one of the same query and the same sources."""

from datetime import datetime
from typing import Any, Final

from arena.experience import datasets
from experience.datasets.building import read_form
from experience.models import Dataset, DatasetShard
from matches.errors import ConflictError
from matches.store import signing

FORMAT: Final = datasets.FORMAT
_RESOLVED: Final = ("user_keys", "agent_keys", "opponent_keys")
"""Of a query: what follows from the rest and is of this database only."""


def build_manifest(dataset: Dataset) -> dict[str, Any]:
    """Return the manifest of a dataset that is ready. Raises ConflictError, ArenaError."""
    if dataset.state != Dataset.State.READY:
        why = f": {dataset.problem}" if dataset.problem else ""
        raise ConflictError(f"dataset {dataset} is {dataset.state}{why}")
    form = read_form(dataset)
    columns = datasets.arrow_schema(form)
    return {
        "format": FORMAT,
        "name": dataset.name,
        "game": dataset.game,
        "source": dataset.source,
        "query": {name: value for name, value in dataset.query.items() if name not in _RESOLVED},
        "n_episodes": dataset.n_episodes,
        "n_steps": dataset.n_steps,
        "n_steps_unfinished": dataset.n_steps_unfinished,
        "n_bytes": dataset.n_bytes,
        "observation_shape": list(form.observation_shape),
        "n_actions": form.n_actions,
        "schema": [
            {"name": name, "type": str(kind)}
            for name, kind in zip(columns.names, columns.types, strict=True)
        ],
        "shards": [_describe_shard(shard) for shard in dataset.shards.all()],
    }


def _describe_shard(shard: DatasetShard) -> dict[str, Any]:
    return {
        "file": f"shard-{shard.number:05}.parquet",
        "sha256": shard.sha256,
        "n_bytes": shard.n_bytes,
        "n_steps": shard.n_steps,
        "first_episode": shard.first_episode,
        "n_episodes": shard.n_episodes,
    }


def shard_path(dataset: str, sha256: str) -> str:
    """Return the address of a shard."""
    return f"/files/datasets/{dataset}/{sha256}"


def sign_shard(shard: DatasetShard, *, now: datetime) -> str:
    """Return the address by which a shard may be fetched without a login."""
    return signing.sign_link("GET", shard_path(shard.dataset.name, shard.sha256), now=now)
