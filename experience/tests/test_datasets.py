"""Datasets of uploads: whole episodes, in shards with hashes, the same after any kill."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from itertools import count
from typing import Any

import numpy as np
import pytest
from django.contrib.auth import get_user_model
from django.core.files.storage import storages
from django.db import IntegrityError, transaction

from arena.experience.chunks import Chunk
from arena.experience.datasets import Rows, read_shard
from arena.experience.tests.made import chunk_of
from arena.experience.wire import write_chunk
from experience import segment_files
from experience.datasets.building import build_datasets, name_shard
from experience.datasets.manifests import build_manifest
from experience.datasets.queries import NewDataset
from experience.datasets.starting import begin_dataset, delete_dataset
from experience.models import Dataset, DatasetSource, Segment
from experience.sink import writing
from experience.sink.gathering import Entry
from experience.tests.made import ACTOR, ended
from matches.errors import BadInputError, ConflictError

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 4, tzinfo=UTC)
_entries = count(1)


def stored(*chunks: Chunk, users: Sequence[int] = (), at: datetime = NOW) -> Segment:
    """Return a segment of these chunks, as the sink writes it."""
    entries = [
        Entry(f"{next(_entries)}-0", user, write_chunk(chunk), len(chunk))
        for user, chunk in zip(users or [1] * len(chunks), chunks, strict=True)
    ]
    segment = writing.write_entries("cart_pole", entries, now=at)
    assert segment is not None
    return segment


def cut(chunk: Chunk, at: int, *, seed: int) -> tuple[Chunk, Chunk]:
    """Return a chunk as two; the later one has the number `seed` as its id."""
    arrays = {name: value for name, value in vars(chunk).items() if isinstance(value, np.ndarray)}
    early: Any = {name: array[:at] for name, array in arrays.items()}
    late: Any = {name: array[at:] for name, array in arrays.items()}
    return replace(chunk, **early), replace(chunk, chunk_id=f"{seed:032x}", **late)


def begun(name: str = "poles", **query: Any) -> Dataset:
    return begin_dataset(NewDataset(name, "cart_pole", **query), actor=ACTOR, now=NOW)


def built(dataset: Dataset) -> Dataset:
    build_datasets(now=NOW, clock_s=iter(np.arange(0, 0.4, 0.001).tolist()).__next__)
    dataset.refresh_from_db()
    return dataset


def rows_of(dataset: Dataset) -> list[Rows]:
    return [read_shard(BytesIO(_open(dataset, shard.sha256)))[1] for shard in dataset.shards.all()]


def _open(dataset: Dataset, digest: str) -> bytes:
    content: bytes = storages["experience"].open(name_shard(dataset.name, digest)).read()
    return content


def test_a_dataset_has_each_step_of_the_whole_episodes_once() -> None:
    one, two = chunk_of((5, 20), seed=1), chunk_of((30, 7), seed=2)
    stored(one)
    stored(two)
    dataset = built(begun())
    assert (dataset.state, dataset.n_episodes, dataset.n_steps) == ("ready", 4, 62)
    (rows,) = rows_of(dataset)
    np.testing.assert_array_equal(
        rows.observations, np.concatenate([one.observations, two.observations])
    )
    np.testing.assert_array_equal(rows.log_probs, np.full(62, np.float32(-0.5)))
    assert rows.episodes.tolist() == [0] * 5 + [1] * 20 + [2] * 30 + [3] * 7
    assert rows.legal_masks.all()
    assert set(rows.policy_versions.tolist()) == {3}


def test_an_episode_is_joined_from_its_chunks_wherever_they_lie() -> None:
    # Of two clients of one user, which number their episodes alike and are cut alike.
    early, late = cut(chunk_of((5, 40), seed=1), 25, seed=2)
    other_early, other_late = cut(chunk_of((5, 40), seed=3), 25, seed=4)
    stored(late, other_late)
    stored(other_early, early)
    dataset = built(begun())
    assert (dataset.n_episodes, dataset.n_steps, dataset.n_steps_unfinished) == (4, 90, 0)
    (rows,) = rows_of(dataset)
    whole = chunk_of((5, 40), seed=1)
    (place,) = np.flatnonzero((rows.observations == whole.observations[5]).all(1))
    joined = rows.observations[place : place + 40]
    np.testing.assert_array_equal(joined, whole.observations[5:])
    assert rows.steps[place : place + 40].tolist() == list(range(40))


def test_what_is_not_whole_is_left_out_and_counted() -> None:
    early, late = cut(chunk_of((5, 40), seed=1), 25, seed=2)
    stored(early, chunk_of((9, 11), first_step=4, seed=3))
    dataset = built(begun())
    assert (dataset.n_episodes, dataset.n_steps, dataset.n_steps_unfinished) == (2, 16, 29)
    del late


def test_the_query_chooses_episodes() -> None:
    users = [get_user_model().objects.create(username=name).pk for name in ("ann", "bob")]
    foreign = chunk_of((6, 12), seed=2, policy_version=-1)
    stored(chunk_of((5, 20), seed=1), foreign, users=users)
    later = NOW + timedelta(days=1)
    stored(chunk_of((8, 9), seed=3), users=users[:1], at=later)
    for number, (query, lengths) in enumerate(
        (
            ({"users": ("bob",)}, [6, 12]),
            ({"max_version": -1}, [6, 12]),
            ({"min_version": 3}, [5, 20, 8, 9]),
            ({"min_return": 9.0, "max_return": 12.0}, [12, 9]),
            ({"since": later}, [8, 9]),
            ({"until": later, "users": ("ann",)}, [5, 20]),
            ({"most_steps": 26}, [5, 20]),
        )
    ):
        new = NewDataset(f"poles-{number}", "cart_pole", **query)  # type: ignore[arg-type]
        (rows,) = rows_of(built(begin_dataset(new, actor=ACTOR, now=NOW)))
        assert np.bincount(rows.episodes).tolist() == lengths, query


def test_shards_hold_whole_episodes_and_go_on_where_control_was_killed() -> None:
    stored(*(chunk_of((5, 20), seed=seed) for seed in range(1, 5)))
    dataset = begun(shard_steps=30)
    # Planned, and one shard written.
    assert build_datasets(now=NOW, clock_s=iter([0, 0, 0, 9]).__next__) == 1
    first = dataset.shards.get(number=0)
    Dataset.objects.filter(pk=dataset.pk).update(state="planning")
    dataset.shards.all().delete()
    again = built(dataset)
    assert [(shard.n_steps, shard.first_episode) for shard in again.shards.all()] == [
        (30, 0), (25, 3), (25, 5), (20, 7)
    ]  # fmt: skip
    assert again.shards.get(number=0).sha256 == first.sha256
    assert [set(rows.episodes) for rows in rows_of(again)] == [{0, 1, 2}, {3, 4}, {5, 6}, {7}]


def test_a_shard_that_was_cut_off_is_written_anew_to_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(chunk_of((5, 20), seed=1))
    store = segment_files.store_file

    def store_half(name: str, content: bytes) -> str:
        store(name, content[: len(content) // 2])
        raise OSError(28, "No space left")

    monkeypatch.setattr(segment_files, "store_file", store_half)
    dataset = built(begun())
    assert dataset.state == "building"
    monkeypatch.setattr(segment_files, "store_file", store)
    assert rows_of(built(dataset))[0].actions.shape == (25,)


def test_one_that_cannot_go_on_says_why_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored(chunk_of((5, 20), seed=1))
    stuck = begun(name="stuck")
    store, name = segment_files.store_file, "datasets/stuck/"

    def refuse(path: str, content: bytes) -> str:
        if path.startswith(name):
            raise OSError(28, "No space left")
        return store(path, content)

    monkeypatch.setattr(segment_files, "store_file", refuse)
    assert built(begun(name="other")).state == "ready"
    stuck.refresh_from_db()
    assert (stuck.state, "No space left" in stuck.problem) == ("building", True)
    monkeypatch.setattr(segment_files, "store_file", store)
    again = built(stuck)
    assert (again.state, again.problem) == ("ready", "")


def test_a_dataset_keeps_its_segments_until_it_is_ready() -> None:
    segment = stored(chunk_of((5, 20), seed=1))
    dataset = begun()
    with pytest.raises(IntegrityError), transaction.atomic():
        segment.delete()
    built(dataset)
    assert not DatasetSource.objects.exists()
    segment.delete()
    assert rows_of(dataset)[0].actions.shape == (25,)


def test_a_file_that_is_gone_fails_the_dataset_with_its_name() -> None:
    segment = stored(chunk_of((5, 20), seed=1))
    storages["experience"].delete(segment.path)
    dataset = built(begun())
    assert dataset.state == "failed"
    assert segment.path in dataset.problem
    with pytest.raises(ConflictError, match="is failed: segment"):
        build_manifest(dataset)


def test_the_manifest_names_the_shards_by_their_content() -> None:
    stored(chunk_of((5, 20), seed=1))
    manifest = build_manifest(built(begun()))
    (shard,) = manifest["shards"]
    assert (shard["file"], shard["n_steps"]) == ("shard-00000.parquet", 25)
    assert manifest["query"]["most_steps"] == 5_000_000
    assert "created_at" not in manifest


@pytest.mark.parametrize(
    ("field", "query"),
    [
        ("name", {"name": "no name"}),
        ("game", {"game": "golf"}),
        ("game", {"since": NOW + timedelta(days=1)}),
        ("users", {"users": ("eve",)}),
        ("min_return", {"min_return": 2.0, "max_return": 1.0}),
        ("since", {"since": NOW, "until": NOW}),
    ],
)
def test_a_query_that_cannot_be_is_refused_with_its_field(field: str, query: Any) -> None:
    stored(chunk_of((5, 20), seed=1))
    new = NewDataset(**{"name": "poles", "game": "cart_pole", **query})
    with pytest.raises(BadInputError) as refused:
        begin_dataset(new, actor=ACTOR, now=NOW)
    assert refused.value.field == field


def test_a_name_is_taken_once_and_free_again_after_deletion(
    django_capture_on_commit_callbacks: Any,
) -> None:
    stored(chunk_of((5, 20), seed=1))
    dataset = built(begun())
    with pytest.raises(BadInputError, match="already"):
        begun()
    ended(1, dataset=dataset, state="running")
    with pytest.raises(ConflictError, match="learns from dataset poles"):
        delete_dataset(dataset, actor=ACTOR, now=NOW)
    dataset.runs.all().delete()
    with django_capture_on_commit_callbacks(execute=True):
        delete_dataset(dataset, actor=ACTOR, now=NOW)
    assert storages["experience"].listdir("datasets/poles") == ([], [])
    begun()


def test_nothing_that_fits_is_a_failure_with_its_reason() -> None:
    stored(chunk_of((5, 20), seed=1))
    assert "nothing fits it" in built(begun(min_return=1_000.0)).problem
