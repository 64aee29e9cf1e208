"""Datasets: waited for, and fetched shard by shard, each with its hash."""

from collections.abc import Callable
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Final

from evalsite_client.api import datasets
from evalsite_client.api.datasets import Dataset, DatasetManifest, DatasetShard
from evalsite_client.downloads import download_file, replace_text
from evalsite_client.errors import AnswerError, InputError, WaitTimeoutError
from evalsite_client.retries import ask_again

OVER: Final = ("ready", "failed")
MANIFEST: Final = "manifest.json"


class Datasets(datasets.Datasets):
    """Datasets of uploads and of matches."""

    def wait(self, dataset: str, *, timeout_s: float | None = None, poll_s: float = 1.0) -> Dataset:
        """Return the dataset once it is ready or has failed. Raises WaitTimeoutError."""
        clock = self._transport.clock
        begun_s = clock.monotonic()
        for dataset_now, _ in ask_again(lambda: self.get(dataset), clock, poll_s=poll_s):
            if dataset_now.state in OVER:
                break
            if timeout_s is not None and clock.monotonic() - begun_s >= timeout_s:
                raise WaitTimeoutError(f"dataset {dataset} is {dataset_now.state}: still not ready")
        return dataset_now

    def download(
        self,
        dataset: str,
        folder: Path | str,
        *,
        progress: Callable[[DatasetShard], None] | None = None,
    ) -> tuple[Path, ...]:
        """Fetch all shards that are not in the folder yet, then manifest.json; return the shards.

        The same call goes on with a folder that it had begun: what has its hash is kept. Raises
        ProblemError where the dataset is not ready, ChecksumError, InputError where the folder has
        another dataset.

        progress: told of every shard that is there.
        """
        manifest, target = self.manifest(dataset), Path(folder)
        _check_folder(target, manifest)
        names = {shard.sha256: shard.file for shard in manifest.shards}
        paths = []
        for shard in self.shards(dataset):
            paths.append(self._download_shard(shard, target / names[shard.sha256]))
            if progress is not None:
                progress(shard)
        target.mkdir(parents=True, exist_ok=True)
        # Last: with it, all that it names is there.
        replace_text(target / MANIFEST, _format_manifest(manifest))
        return tuple(paths)

    def _download_shard(self, shard: DatasetShard, path: Path) -> Path:
        return download_file(self._transport, lambda: shard.url, path, digest=shard.sha256)


def _check_folder(folder: Path, manifest: DatasetManifest) -> None:
    """Refuse a folder of another dataset, whose shards would be mixed with these."""
    for shard in manifest.shards:
        if Path(shard.file).name != shard.file:
            raise AnswerError(f"the server names a shard {shard.file!r:.80}: no name of a file")
    described = folder / MANIFEST
    if described.exists() and described.read_text(encoding="utf-8") != _format_manifest(manifest):
        raise InputError("folder", f"{folder} holds another dataset: choose a new folder")


def _format_manifest(manifest: DatasetManifest) -> str:
    return f"{dumps(asdict(manifest), indent=2)}\n"
