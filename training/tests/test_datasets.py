"""Learning from a dataset: each step once an epoch, the same after a kill, other files refused."""

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from arena.experience import datasets as shards
from arena.experience.datasets import DatasetError, Rows, read_shard, write_shard
from arena.experience.segments import SentChunk, build_table
from arena.experience.tests.made import SPEC, chunk_of
from arena.train_messages import DataFile, Trained
from arena.trajectories import TrajectorySpec
from training import datasets, registry
from training.datasets import DatasetReader
from training.errors import TrainingError
from training.records import read_rows
from training.slices import Reporter, Slice
from training.tests.cart_pole import TASK
from training.tests.test_slices import Files, make_order

FORM = TrajectorySpec.of_game(SPEC)
LENGTHS = (5, 20)


def put_shards(files: Files, n_shards: int = 2) -> list[DataFile]:
    """Return files of two episodes each."""
    return [_put(files, [_make_rows(number)]) for number in range(n_shards)]


def _make_rows(number: int) -> pa.Table:
    rows = build_table([SentChunk(1, chunk_of(LENGTHS, seed=number))], FORM)
    return shards.convert_uploads(rows, FORM, first_episode=2 * number)


def _put(files: Files, tables: list[pa.Table]) -> DataFile:
    target = BytesIO()
    write_shard(target, tables, FORM)
    return DataFile(files.put(target.getvalue()), "/files/datasets/poles/a")


def read_seen(reader: DatasetReader, n_blocks: int) -> list[bytes]:
    """Return the observations of so many blocks, one after the other."""
    blocks = [reader.read(1)[0] for _ in range(n_blocks)]
    return [row.tobytes() for block in blocks for row in block.records.observations.numpy()]


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "ROWS", 10)


def test_each_step_comes_once_an_epoch_and_in_another_order_in_the_next() -> None:
    files = Files()
    reader = DatasetReader(files, put_shards(files), TASK, seed=1)
    first, second = read_seen(reader, 6), read_seen(reader, 6)
    every = [row.tobytes() for n in (0, 1) for row in chunk_of(LENGTHS, seed=n).observations]
    assert sorted(first) == sorted(second) == sorted(every)
    assert first != second


def test_a_reader_goes_on_behind_a_place() -> None:
    files = Files()
    data = put_shards(files)
    whole = DatasetReader(files, data, TASK, seed=1)
    places = [whole.read(1)[0].place for _ in range(20)]
    rest = DatasetReader(files, data, TASK, seed=1)
    rest.resume(places[7])
    assert [rest.read(1)[0].place for _ in range(12)] == places[8:]
    assert read_seen(rest, 3) == read_seen(whole, 3)


def test_what_does_not_fit_in_the_cache_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files = Files()
    data = put_shards(files, 1)
    reader = DatasetReader(files, data, TASK, seed=1)
    monkeypatch.setattr(datasets, "CACHED_BYTES", 0)
    assert len(read_seen(reader, 6)) == 50
    assert not reader._cache


def test_a_file_of_another_game_or_of_nothing_is_refused() -> None:
    files = Files()
    (other,) = put_shards(files, 1)
    task = type(TASK)("acrobot", (4,), 2)
    with pytest.raises(DatasetError, match=r"is of .*cart_pole.*, the run is of .*acrobot"):
        DatasetReader(files, [other], task, seed=1).read(1)
    with pytest.raises(TrainingError, match="has no step"):
        DatasetReader(files, [_put(files, [])], TASK, seed=1).read(1)
    broken = DataFile(files.put(b"PAR1"), "/files/a")
    with pytest.raises(DatasetError, match="no shard"):
        DatasetReader(files, [broken], TASK, seed=1).read(1)


def train(
    files: Files, data: list[DataFile], *, state: str = "", looks: int = 100, dies_at: int = -1
) -> list[Trained]:
    """Return the reports of a slice of as many seconds as looks."""
    reports: list[Trained] = []

    def report(trained: Trained) -> None:
        if len(reports) == dies_at:
            raise KeyboardInterrupt
        reports.append(trained)

    order = make_order(
        algorithm="bc", parameters={"minibatch": 4}, files=data, state=state,
        max_steps=200, slice_s=float(looks),
    )  # fmt: skip
    one = Slice(order, Reporter(order, trainer="trainer-1", files=files, report=report))
    ticks = count()
    reader = DatasetReader(files, data, TASK, order.seed)
    one.run(reader, clock_s=lambda: float(next(ticks)))
    return reports


def test_a_run_that_is_killed_goes_on_to_the_same_weights() -> None:
    files = Files()
    data = put_shards(files)
    *_, last = train(files, data)
    with pytest.raises(KeyboardInterrupt):
        train(files, data, dies_at=12)
    *_, before = train(files, data, looks=11)
    *_, again = train(files, data, state=before.state)
    assert before.n_steps < again.n_steps == last.n_steps == 200
    ours, theirs = (_weights_of(files, one.state) for one in (again, last))
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def _weights_of(files: Files, state: str) -> Sequence[torch.Tensor]:
    learner = registry.get("bc").begin(TASK, {}, seed=0)
    learner.load(files.kept[state])
    return list(learner.module.parameters())


def test_versions_are_published_every_two_seconds_and_at_the_end() -> None:
    files = Files()
    first, *reports = train(files, put_shards(files), looks=8)
    last = reports[-1]
    published = [one.version for one in reports if one.weights]
    assert (first.version, bool(first.weights)) == (0, True)
    assert published == [2, 4, 6, 7]
    assert last.metrics["epoch"] == 1.0
    assert (last.is_last, last.version, last.n_steps) == (True, 7, 60)


def test_a_clone_never_learns_from_what_was_not_legal() -> None:
    rows = _rows_with(masks=np.array([[True, False]] * 25))
    learner: Any = registry.get("bc").begin(TASK, {}, seed=0)
    before = [weights.clone() for weights in learner.module.parameters()]
    metrics = learner.learn_records(read_rows(replace(rows, actions=np.zeros(25, np.int32))))
    # With one legal action there is nothing to choose.
    assert metrics["loss"] == 0.0
    assert all(torch.equal(a, b) for a, b in zip(before, learner.module.parameters(), strict=True))


def test_the_next_mask_is_that_of_the_seat_and_the_last_ones_own() -> None:
    masks = np.random.default_rng(1).random((25, 2)) < 0.5
    records = read_rows(_rows_with(masks=masks))
    assert records.next_masks[:4].tolist() == masks[1:5].tolist()
    assert records.next_masks[4].tolist() == masks[4].tolist()
    assert records.next_masks[-1].tolist() == masks[-1].tolist()


def _rows_with(*, masks: Any) -> Rows:
    target = BytesIO()
    write_shard(target, [_make_rows(0)], FORM)
    return replace(read_shard(BytesIO(target.getvalue()))[1], legal_masks=masks)
