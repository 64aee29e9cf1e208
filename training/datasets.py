"""A run's view of a dataset: each step once an epoch, in an order that follows from the seed."""

from collections.abc import Sequence
from io import BytesIO
from typing import Final, NamedTuple

import numpy as np
import torch

from arena.experience.datasets import DatasetError, read_shard
from arena.train_messages import DataFile
from training.base import Learner, Metrics, OfflineLearner, Task
from training.errors import TrainingError
from training.files import RunFiles
from training.records import Records, read_rows

ROWS: Final = 8_192
"""Steps that are learned from at once."""
PUBLISH_S: Final = 2.0
CACHED_BYTES: Final = 2**28
_BITS: Final = 32
"""Of the second number of a place: what of it counts the blocks of a shard."""


class Block(NamedTuple):
    """Some steps of a shard, and the place behind them."""

    place: str
    records: Records


class DatasetReader:
    """Reads shards one at a time; each block is drawn from all over its shard."""

    at_once, most, n_unreadable = 1, 1, 0
    publish_s = PUBLISH_S

    def __init__(self, files: RunFiles, shards: Sequence[DataFile], task: Task, seed: int) -> None:
        """seed: of the order of shards and of the steps within them."""
        self._files, self._shards, self._task, self._seed = files, shards, task, seed
        self._epoch = self._position = self._block = 0
        self._cache: dict[str, bytes] = {}
        self._opened: tuple[int, int] | None = None
        self._records: Records | None = None
        self._order = np.empty(0, np.int64)

    def resume(self, place: str) -> None:
        """Begin behind a place."""
        epoch, _, tail = place.partition("-")
        self._epoch = int(epoch)
        self._position, self._block = divmod(int(tail), 1 << _BITS)

    def read(self, most: int) -> list[Block]:
        """Return the next block. Raises DatasetError, TrainingError, UnavailableError."""
        del most
        records = self._open_records()
        rows = self._order[self._block * ROWS :][:ROWS]
        if not len(rows):
            self._go_on()
            return self.read(1)
        self._block += 1
        place = f"{self._epoch}-{self._position << _BITS | self._block}"
        return [Block(place, records.take(torch.from_numpy(rows)))]

    def teach(self, learner: Learner, blocks: Sequence[Block]) -> Metrics:
        """Let a learner learn from blocks."""
        offline: OfflineLearner = learner  # type: ignore[assignment]  # control orders no other
        metrics: Metrics = {}
        for block in blocks:
            metrics = {**offline.learn_records(block.records), "epoch": float(self._epoch)}
        return metrics

    def acknowledge(self, place: str) -> None:
        """Do nothing: a dataset does not go away."""

    def _go_on(self) -> None:
        self._block, self._position = 0, self._position + 1
        if self._position >= len(self._shards):
            self._epoch, self._position = self._epoch + 1, 0

    def _open_records(self) -> Records:
        place = (self._epoch, self._position)
        if self._opened != place or self._records is None:
            rng = np.random.default_rng([self._seed, self._epoch])
            number = int(rng.permutation(len(self._shards))[self._position])
            self._records = self._read_shard(self._shards[number])
            own = np.random.default_rng([self._seed, self._epoch, number])
            self._order = own.permutation(len(self._records))
            self._opened = place
        return self._records

    def _read_shard(self, shard: DataFile) -> Records:
        form, rows = read_shard(BytesIO(self._fetch_shard(shard)))
        task = self._task
        if (form.game, form.observation_shape, form.n_actions) != tuple(vars(task).values()):
            raise DatasetError(f"shard {shard.sha256} is of {form}, the run is of {task}")
        if not len(rows):
            raise TrainingError(f"shard {shard.sha256} has no step")
        return read_rows(rows)

    def _fetch_shard(self, shard: DataFile) -> bytes:
        if shard.sha256 not in self._cache:
            content = self._files.fetch(shard.sha256, shard.source)
            if sum(map(len, self._cache.values())) + len(content) > CACHED_BYTES:
                return content
            self._cache[shard.sha256] = content
        return self._cache[shard.sha256]
