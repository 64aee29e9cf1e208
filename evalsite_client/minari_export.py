"""Downloaded datasets as Minari's: with the extra `minari`, loaded late, by one command."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import minari  # type: ignore[import-not-found]  # an extra
import numpy as np
import pyarrow.parquet as pq
from gymnasium.spaces import Box, Discrete
from minari.data_collector import EpisodeBuffer  # type: ignore[import-not-found]
from minari.dataset.minari_dataset import (  # type: ignore[import-not-found]
    parse_dataset_id,
)
from minari.namespace import (  # type: ignore[import-not-found]
    create_namespace,
    list_local_namespaces,
)
from pyarrow import ArrowException

from evalsite_client.errors import InputError
from evalsite_client.uploads import compute_sha256

FORMAT: Final = "evalsite dataset/1"
INFOS: Final = {"log_probs": "log_prob", "policy_versions": "policy_version"}
"""Of the infos: the column that each is. The first info is that of the reset and of no action."""
_AT_RESET: Final = {"log_probs": np.nan, "policy_versions": -1}
COLUMNS: Final = (
    *("episode", "seat", "observation", "next_observation", "action", "reward"),
    *("terminated", "truncated", "log_prob", "policy_version"),
)


def export_folder(folder: Path, dataset_id: str, root: Path) -> int:
    """Write the dataset in a folder as one of Minari's below a root; return how many episodes.

    Raises InputError where the folder holds no whole dataset, or the id is none or taken.
    """
    manifest = read_manifest(folder)
    namespace = _read_namespace(dataset_id)
    if (root / dataset_id).exists():
        raise InputError("id", f"{root} has a dataset {dataset_id!r} already: choose another id")
    root.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: Minari lists no hidden folder, and what is cut off takes no id.
    with TemporaryDirectory(prefix=".unfinished-", dir=root) as unfinished:
        _use_root(Path(unfinished))
        n_episodes = _write_dataset(folder, dataset_id, manifest)
        _use_root(root)
        if namespace is not None and namespace not in list_local_namespaces():
            create_namespace(namespace)
        (Path(unfinished) / dataset_id).rename(root / dataset_id)
    return n_episodes


def _read_namespace(dataset_id: str) -> str | None:
    try:
        namespace: str | None = parse_dataset_id(dataset_id)[0]
    except (TypeError, ValueError) as error:  # TypeError: it has no version
        rule = "it must be name-v0 or namespace/name-v0"
        raise InputError("id", f"{dataset_id!r} is no id of Minari's: {rule}") from error
    return namespace


def _use_root(root: Path) -> None:
    os.environ["MINARI_DATASETS_PATH"] = str(root.resolve())


def _write_dataset(folder: Path, dataset_id: str, manifest: Mapping[str, Any]) -> int:
    """Write it below the root that Minari uses; return how many episodes it has."""
    dataset: Any = None
    for shard in manifest["shards"]:
        episodes = list(read_episodes(folder / shard["file"], manifest["observation_shape"]))
        if dataset is None:
            dataset = _create_dataset(dataset_id, episodes, manifest)
        else:
            dataset.update_dataset_from_buffer(episodes)
    return int(dataset.total_episodes)


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """Return the manifest of a folder all of whose shards are whole. Raises InputError."""
    path = folder / "manifest.json"
    try:
        manifest: Mapping[str, Any] = json.loads(path.read_text())
        if manifest["format"] != FORMAT:
            raise ValueError(f"it is of {manifest['format']!r}, not of {FORMAT!r}")
        shards = {folder / shard["file"]: shard["sha256"] for shard in manifest["shards"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "evalsite datasets download NAME FOLDER makes one"
        raise InputError(
            "folder", f"{path} is no manifest of a dataset: {error}; {hint}"
        ) from error
    for shard, sha256 in shards.items():
        if not shard.is_file() or compute_sha256(shard) != sha256:
            raise InputError("folder", f"{shard} is not whole: download the dataset again")
    return manifest


def read_episodes(path: Path, shape: list[int]) -> Iterator[Any]:
    """Yield the episodes of a shard, of each seat its own. Raises InputError."""
    try:
        rows = pq.read_table(path, columns=list(COLUMNS))
    except ArrowException as error:
        raise InputError("folder", f"{path} cannot be read: {error}") from error
    columns = {name: _read_column(rows, name, shape) for name in COLUMNS}
    numbers = np.stack([columns["episode"], columns["seat"]])
    starts = np.flatnonzero(np.any(np.diff(numbers, axis=1, prepend=-1) != 0, axis=0))
    for start, end in zip(starts, [*starts[1:], rows.num_rows], strict=True):
        own = {name: column[start:end] for name, column in columns.items()}
        yield EpisodeBuffer(
            # One more than there are actions: the last is what the last action led to.
            observations=np.concatenate([own["observation"], own["next_observation"][-1:]]),
            actions=own["action"],
            rewards=own["reward"],
            terminations=own["terminated"],
            truncations=own["truncated"],
            infos={
                # Of length 1 each: infos that are plain numbers Minari 0.5.4 cannot read back.
                name: np.insert(own[column], 0, _AT_RESET[name])[:, None]
                for name, column in INFOS.items()
            },
        )


def _create_dataset(dataset_id: str, episodes: list[Any], manifest: Mapping[str, Any]) -> Any:
    return minari.create_dataset_from_buffers(
        dataset_id,
        episodes,
        # No game declares bounds of its observations.
        observation_space=Box(-np.inf, np.inf, tuple(manifest["observation_shape"]), np.float32),
        action_space=Discrete(manifest["n_actions"]),
        description=json.dumps({name: manifest[name] for name in ("name", "game", "query")}),
        data_format="arrow",
        jpeg_encoding=False,
    )


def _read_column(rows: Any, name: str, shape: list[int]) -> Any:
    column = rows.column(name).combine_chunks()
    if name.endswith("observation"):
        return column.flatten().to_numpy().reshape(-1, *shape)
    return column.to_numpy(zero_copy_only=False)  # null becomes NaN
