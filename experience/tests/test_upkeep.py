"""Upkeep: small segments are joined, old ones go, orphans are swept, the index does not grow."""

import os
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import connection
from django.test import TestCase
from redis import Redis

from arena.experience.segments import read_segment
from arena.experience.tests.made import assert_same, chunk_of
from experience import segment_files
from experience.models import ChunkIndex, Dataset, Segment
from experience.sink import writing
from experience.sqlite_commits import kept_commits
from experience.tests.test_datasets import begun, built, rows_of, stored
from experience.tests.test_sink import KEY, entry_of, put
from experience.upkeep import compaction, sweeping
from experience.upkeep.compaction import compact_next
from experience.upkeep.pruning import prune_index
from experience.upkeep.retention import delete_old_segments
from experience.upkeep.running import Upkeep
from experience.upkeep.sweeping import sweep_files

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 5, 4, 10, tzinfo=UTC)
NEXT_DAY = NOW + timedelta(days=1)
ALL = TestCase.captureOnCommitCallbacks


def stored_chunks() -> list[Any]:
    return [
        sent.chunk
        for segment in Segment.objects.order_by("pk")
        for sent in read_segment(storages["experience"].open(segment.path))  # type: ignore[arg-type]
    ]


def list_names(day: str = "2026-05-04") -> set[str]:
    folder = f"cart_pole/{day}"
    return {f"{folder}/{name}" for name in storages["experience"].listdir(folder)[1]}


def compact(*, most_rows: int = 1_000, now: datetime = NEXT_DAY) -> Segment | None:
    with ALL(execute=True):
        return compact_next(most_rows=most_rows, now=now)


def test_the_segments_of_a_day_become_one() -> None:
    for seed in range(1, 5):
        stored(chunk_of(seed=seed, policy_version=seed), at=NOW)
    today = stored(chunk_of(seed=9), at=NEXT_DAY)
    joined = compact()
    assert joined is not None
    assert (joined.n_rows, joined.min_policy_version, joined.max_policy_version) == (100, 1, 4)
    assert set(Segment.objects.values_list("pk", flat=True)) == {joined.pk, today.pk}
    assert list_names() == {joined.path}
    assert storages["experience"].size(joined.path) == joined.n_bytes
    for seed, chunk in zip((1, 2, 3, 4, 9), stored_chunks(), strict=True):
        assert_same(chunk, chunk_of(seed=seed, policy_version=chunk.policy_version))
    assert ChunkIndex.objects.filter(segment=joined).count() == 4
    # A chunk that comes again is known, and today's are left alone.
    assert writing.write_entries("cart_pole", [entry_of(2, "77-0")], now=NEXT_DAY) is None
    assert compact() is None


def test_a_joined_file_is_no_longer_than_asked_for() -> None:
    for seed in range(1, 6):
        stored(chunk_of(seed=seed), at=NOW)
    assert [one.n_rows for one in iter(lambda: compact(most_rows=50), None)] == [50, 50]
    assert sorted(Segment.objects.values_list("n_rows", flat=True)) == [25, 50, 50]
    assert Segment.objects.filter(is_compacted=False).count() == 0


def test_with_0_rows_nothing_is_joined_and_just_after_midnight_neither() -> None:
    for seed in (1, 2):
        stored(chunk_of(seed=seed), at=NOW)
    assert compact(most_rows=0) is None
    assert compact(now=NOW.replace(hour=0) + timedelta(days=1, minutes=59)) is None
    assert Segment.objects.filter(is_compacted=False).count() == 2


def test_a_joined_file_takes_no_more_memory_than_it_may_however_well_it_packs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zeros = np.zeros((1_000, 4), np.float32)
    for seed in range(1, 5):
        sent = chunk_of((1_000,), seed=seed, observations=zeros, next_observations=zeros)
        packed = stored(sent, at=NOW)
        assert packed.n_bytes < zeros.nbytes
    # Two observations a step: as much as two files have.
    monkeypatch.setattr(compaction, "MOST_BYTES", 2 * 2 * zeros.nbytes)
    joined = list(iter(lambda: compact(most_rows=10_000), None))
    assert [one.n_rows for one in joined] == [2_000, 2_000]


def test_what_a_dataset_is_built_from_is_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in (1, 2):
        stored(chunk_of(seed=seed), at=NOW)
    store = segment_files.store_file

    def begin_meanwhile(name: str, content: bytes) -> str:
        begun()
        return store(name, content)

    monkeypatch.setattr(segment_files, "store_file", begin_meanwhile)
    assert compact() is None
    monkeypatch.setattr(segment_files, "store_file", store)
    assert Segment.objects.count() == 2
    assert compact() is None

    assert rows_of(built(Dataset.objects.get()))[0].actions.shape == (50,)
    assert compact() is not None


def test_a_segment_that_cannot_be_read_keeps_nothing_else_from_being_joined() -> None:
    broken = stored(chunk_of(seed=1), at=NOW)
    stored(chunk_of(seed=2), at=NOW)
    storages["experience"].delete(broken.path)
    assert compact() is None
    for seed in (3, 4):
        stored(chunk_of(seed=seed), at=NEXT_DAY)
    assert compact(now=NEXT_DAY + timedelta(days=1)) is not None


def test_old_segments_go_with_their_files_and_chunks_but_not_those_of_a_dataset() -> None:
    old, held = (stored(chunk_of(seed=seed), at=NOW) for seed in (1, 2))
    dataset = begun(until=NEXT_DAY)
    dataset.sources.filter(segment=old).delete()
    young = stored(chunk_of(seed=3), at=NEXT_DAY)
    later = NOW + timedelta(days=7, seconds=1)
    with ALL(execute=True):
        assert delete_old_segments(days=0, now=later) == 0
        assert delete_old_segments(days=7, now=later) == 1
    assert set(Segment.objects.all()) == {held, young}
    assert list_names() == {held.path}
    assert ChunkIndex.objects.count() == 2


def put_orphan(name: str, *, age: timedelta, now: datetime) -> str:
    storages["experience"].save(name, ContentFile(b"PAR1"))
    seconds = (now - age).timestamp()
    os.utime(Path(storages["experience"].path(name)), (seconds, seconds))
    return name


def test_files_without_a_row_go_after_an_hour() -> None:
    now = datetime.now(UTC)
    kept = stored(chunk_of(seed=1), at=NOW)
    dataset = built(begun())
    old = timedelta(minutes=61)
    put_orphan(f"{kept.path}x", age=old, now=now)
    put_orphan("datasets/poles/0123.parquet", age=old, now=now)
    put_orphan("datasets/gone/0123.parquet", age=old, now=now)
    young = put_orphan("cart_pole/2026-05-04/young", age=timedelta(minutes=59), now=now)
    # Not ours: neither of a game's day nor of a dataset.
    put_orphan("notes/readme", age=old, now=now)
    assert sweep_files(now=now) == 3
    assert list_names() == {kept.path, young}
    assert storages["experience"].exists("notes/readme")
    assert rows_of(dataset)[0].actions.shape == (25,)


def test_a_file_that_gets_its_row_at_the_last_moment_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = datetime.now(UTC)
    segment = stored(chunk_of(seed=1), at=NOW)
    Path(storages["experience"].path(segment.path)).touch()
    monkeypatch.setattr(sweeping, "ORPHANED_AFTER", timedelta(days=-1))
    monkeypatch.setattr(sweeping, "find_orphans", lambda: [segment.path])
    assert sweep_files(now=now) == 0
    assert list_names() == {segment.path}


def test_a_row_is_never_written_for_a_file_that_was_swept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = segment_files.store_file

    def sweep_behind(name: str, content: bytes) -> str:
        compaction.delete_file(store(name, content))
        return name

    monkeypatch.setattr(segment_files, "store_file", sweep_behind)
    with pytest.raises(OSError, match="deleted before its row was written"):
        stored(chunk_of(seed=1), at=NOW)
    assert not Segment.objects.exists()


def test_the_index_of_chunks_is_forgotten_once_no_sink_can_read_them_again(
    stream_server: Redis,
) -> None:
    (entry,) = put(stream_server, 1)
    segment = writing.write_entries("cart_pole", [entry_of(1, entry)], now=NOW)
    client: Any = stream_server
    later = NOW + timedelta(days=2, seconds=1)
    client.xgroup_create(KEY, "sink", id="0")
    client.xreadgroup("sink", "dead", {KEY: ">"})
    # A sink that was killed still holds it.
    assert prune_index(client, days=2, now=later) == 0
    assert prune_index(client, days=0, now=later) == 0
    client.xack(KEY, "sink", entry)
    assert prune_index(client, days=2, now=NOW) == 0
    assert prune_index(client, days=2, now=later) == 1
    assert (ChunkIndex.objects.count(), Segment.objects.get()) == (0, segment)
    assert prune_index(client, days=2, now=later) == 0


def test_the_index_is_forgotten_where_there_is_no_stream_any_more(stream_server: Redis) -> None:
    stored(chunk_of(seed=1), at=NOW)
    assert prune_index(stream_server, days=1, now=NOW + timedelta(days=3)) == 1


def test_upkeep_is_done_once_a_minute_and_files_are_swept_once_an_hour(
    stream_server: Redis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[datetime] = []
    monkeypatch.setattr(sweeping, "sweep_files", lambda *, now: swept.append(now))
    for seed in range(1, 9):
        stored(chunk_of(seed=seed), at=NOW + timedelta(hours=24 * (seed // 3)))
    upkeep, now = Upkeep(), NOW + timedelta(days=8, hours=12)
    settings.EVALSITE_EXPERIENCE_DAYS = 8
    counts = []
    for seconds in (0, 59, 60, 3_600):
        with ALL(execute=True):
            upkeep.keep_up(lambda: nullcontext(stream_server), now=now + timedelta(seconds=seconds))
        counts.append((Segment.objects.count(), len(swept)))
    # The first two are too old; of the others one day after the other is joined.
    assert counts == [(4, 1), (4, 1), (2, 1), (2, 2)]
    assert not ChunkIndex.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_what_upkeep_commits_is_on_disk_before_files_go() -> None:
    def read_level() -> object:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA synchronous")
            return cursor.fetchone()[0]

    if connection.vendor != "sqlite":
        return  # PostgreSQL does so by itself
    before = read_level()
    with kept_commits():
        assert read_level() == 2
    assert read_level() == before == 1
