"""The sink: each accepted chunk once in an indexed file, then gone from the stream."""

from collections.abc import Iterator
from datetime import UTC, datetime
from threading import Event
from typing import Any
from uuid import UUID

import pytest
from django.core.files.storage import storages
from django.db import OperationalError, connection
from django.db.backends.signals import connection_created
from redis import Redis

from arena.experience.segments import SentChunk, read_segment
from arena.experience.tests.made import assert_same, chunk_of
from arena.experience.wire import write_chunk
from experience import segment_files
from experience.models import ChunkIndex, Segment
from experience.sink import gathering, running, writing
from experience.sink.consumer import Consumer
from experience.sink.gathering import Batch, Entry, Limits
from experience.sink.running import Sink
from experience.sqlite_commits import keep_commits

pytestmark = pytest.mark.django_db

KEY = "xp:{cart_pole}"
NOW = datetime(2026, 5, 4, tzinfo=UTC)


def put(server: Redis, *seeds: int, user: int = 1) -> list[str]:
    """Put chunks on the stream as the web server does; return their ids there."""
    client: Any = server
    return [
        client.xadd(
            KEY, {"chunk": write_chunk(chunk_of(seed=seed)), "user": user, "n": 25}
        ).decode()
        for seed in seeds
    ]


def entry_of(seed: int, entry_id: str) -> Entry:
    return Entry(entry_id, 1, write_chunk(chunk_of(seed=seed)), 25)


def stored() -> list[SentChunk]:
    """Return all chunks of indexed files, in the order of the files."""
    return [
        sent
        for segment in Segment.objects.order_by("pk")
        for sent in read_segment(storages["experience"].open(segment.path))  # type: ignore[arg-type]
    ]


def stored_ids() -> list[int]:
    return sorted(int(chunk.chunk_id, 16) for _, chunk in stored())


@pytest.fixture
def consumer(stream_server: Redis) -> Consumer:
    made = Consumer(stream_server, "sink", ["cart_pole"])
    made.make_groups()
    return made


class Steps(Event):
    """Lets a sink go round so many times."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.left = rounds

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


def run_sink(consumer: Consumer, *, rows: int = 1, rounds: int = 8) -> None:
    Sink(consumer, Limits(rows, 3_600), Steps(rounds), iter(range(10**9)).__next__).run()


def test_chunks_become_a_file_with_a_row_and_leave_the_stream(
    consumer: Consumer, stream_server: Redis
) -> None:
    first, _, last = put(stream_server, 1, 2, 3, user=7)
    run_sink(consumer, rows=75)
    segment = Segment.objects.get()
    assert (segment.game, segment.first_id, segment.last_id) == ("cart_pole", first, last)
    assert (segment.n_rows, segment.min_policy_version, segment.max_policy_version) == (75, 3, 3)
    assert segment.path.endswith(f"/{first}-{last}-{segment.sha256[:12]}.parquet")
    assert storages["experience"].size(segment.path) == segment.n_bytes
    assert [user for user, _ in stored()] == [7, 7, 7]
    assert_same(stored()[1].chunk, chunk_of(seed=2))
    assert set(ChunkIndex.objects.values_list("chunk_id", flat=True)) == set(map(_uuid, (1, 2, 3)))
    assert stream_server.xlen(KEY) == 0
    groups: Any = stream_server.xinfo_groups(KEY)
    assert (groups[0]["pending"], groups[0]["lag"]) == (0, 0)


def _uuid(seed: int) -> UUID:
    return UUID(int=seed)


def test_a_commit_of_the_sink_is_on_disk_before_the_stream_forgets() -> None:
    own = connection.copy()
    connection_created.connect(keep_commits)
    try:
        with own.cursor() as cursor:
            if own.vendor == "sqlite":
                cursor.execute("PRAGMA synchronous")
                assert cursor.fetchone() == (2,)
    finally:
        connection_created.disconnect(keep_commits)
        own.close()


def test_few_steps_wait_for_more_or_for_their_time() -> None:
    batch = Batch(100.0)
    batch.add(entry_of(1, "1-0"))
    assert not batch.is_due(Limits(26, 60), now_s=159)
    assert batch.is_due(Limits(25, 60), now_s=159)
    assert batch.is_due(Limits(26, 60), now_s=160)


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_CHUNKS"])
def test_a_batch_does_not_grow_beyond_its_bytes_and_chunks(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, limit, 1)
    batch = Batch(100.0)
    batch.add(entry_of(1, "1-0"))
    assert batch.is_due(Limits(10**9, 60), now_s=100)


def test_an_entry_that_is_read_twice_is_gathered_once() -> None:
    batch = Batch(0.0)
    for _ in range(2):
        batch.add(entry_of(1, "1-0"))
    assert (len(batch.entries), batch.n_rows) == (1, 25)


def test_entries_are_in_the_order_of_the_stream() -> None:
    ids = [
        entry.entry_id
        for entry in gathering.sort_entries(
            [entry_of(1, "10-2"), entry_of(2, "9-7"), entry_of(3, "10-10")]
        )
    ]
    assert ids == ["9-7", "10-2", "10-10"]


def test_a_sink_goes_on_with_what_it_had_read(consumer: Consumer, stream_server: Redis) -> None:
    put(stream_server, 1, 2)
    assert len(consumer.read_new()) == 2
    put(stream_server, 3)
    run_sink(consumer)
    assert stored_ids() == [1, 2, 3]
    assert stream_server.xlen(KEY) == 0


def test_what_a_dead_sink_has_read_is_taken_over(consumer: Consumer, stream_server: Redis) -> None:
    put(stream_server, *range(100))
    dead = Consumer(stream_server, "dead", ["cart_pole"])
    n_held = len(dead.read_new()) + len(dead.read_new())
    assert n_held == 100
    assert consumer.claim_dead(idle_s=60) == []
    claimed = consumer.claim_dead(idle_s=0)
    assert [int(entry.entry_id.split("-")[0]) > 0 for _, entry in claimed] == [True] * 100


def test_two_sinks_with_the_same_entries_store_each_chunk_once(stream_server: Redis) -> None:
    # What each holds lies between what the other does, and they cut it differently.
    entries = [entry_of(seed, f"{seed}-0") for seed in range(1, 7)]
    one = writing.write_entries("cart_pole", entries[:4], now=NOW)
    two = writing.write_entries("cart_pole", [*entries[1::2], entries[4]], now=NOW)
    three = writing.write_entries("cart_pole", entries, now=NOW)
    assert one is not None
    assert two is not None
    assert (one.n_rows, two.n_rows) == (100, 50)
    assert three is None
    assert stored_ids() == [1, 2, 3, 4, 5, 6]


def test_a_sink_that_is_overtaken_amid_writing_stores_what_is_left(
    stream_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [entry_of(seed, f"{seed}-0") for seed in range(1, 5)]
    store = segment_files.store_file

    def store_when_overtaken(name: str, content: bytes) -> str:
        monkeypatch.setattr(segment_files, "store_file", store)
        writing.write_entries("cart_pole", entries[1:3], now=NOW)
        return store(name, content)

    monkeypatch.setattr(segment_files, "store_file", store_when_overtaken)
    writing.write_entries("cart_pole", entries, now=NOW)
    assert stored_ids() == [1, 2, 3, 4]
    assert sorted(Segment.objects.values_list("n_rows", flat=True)) == [50, 50]
    # The file that nobody indexed is gone.
    _, files = storages["experience"].listdir("cart_pole/2026-05-04")
    assert len(files) == 2


def test_two_sinks_that_write_the_same_file_share_it(
    stream_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [entry_of(seed, f"{seed}-0") for seed in range(1, 5)]
    store = segment_files.store_file

    def store_when_overtaken(name: str, content: bytes) -> str:
        monkeypatch.setattr(segment_files, "store_file", store)
        writing.write_entries("cart_pole", entries, now=NOW)
        return store(name, content)

    monkeypatch.setattr(segment_files, "store_file", store_when_overtaken)
    assert writing.write_entries("cart_pole", entries, now=NOW) is None
    assert stored_ids() == [1, 2, 3, 4]


def test_a_row_that_fits_to_nothing_is_an_error_and_not_tried_for_ever() -> None:
    entries = [entry_of(1, "1-0")]
    writing.write_entries("cart_pole", entries, now=NOW)
    ChunkIndex.objects.all().delete()
    with pytest.raises(Exception, match=r"(?i)unique"):
        writing.write_entries("cart_pole", entries, now=NOW)


def test_a_file_that_was_cut_off_is_written_anew() -> None:
    entries = [entry_of(1, "1-0"), entry_of(2, "2-0")]
    name = writing.make_segment(
        "cart_pole", list(writing.read_entries("cart_pole", entries).values()), now=NOW
    )[0].path
    segment_files.store_file(name, b"PAR1")
    writing.write_entries("cart_pole", entries, now=NOW)
    assert Segment.objects.get().path == name
    assert stored_ids() == [1, 2]


def test_what_is_no_chunk_does_not_hold_up_the_others(
    consumer: Consumer, stream_server: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    stream_server.xadd(KEY, {"chunk": b"\x80\x04.", "user": 1, "n": 1})
    put(stream_server, 1)
    run_sink(consumer)
    assert stored_ids() == [1]
    assert stream_server.xlen(KEY) == 0
    assert "is no chunk and is dropped" in caplog.text


def test_what_a_learner_has_not_read_stays(consumer: Consumer, stream_server: Redis) -> None:
    ids = put(stream_server, 1, 2, 3)
    for group in ("learn:7", "learn:8"):
        stream_server.xgroup_create(KEY, group, id="0")
    stream_server.xreadgroup("learn:7", "one", {KEY: ">"}, count=2)
    stream_server.xack(KEY, "learn:7", ids[0])
    consumer.read_new()
    consumer.acknowledge("cart_pole", ids)
    # What it holds and what it has not read; a run without a lease does not count.
    consumer.trim("cart_pole", ["learn:7"])
    assert _left(stream_server) == ids[1:]
    consumer.trim("cart_pole", [])
    assert _left(stream_server) == []


def _left(server: Redis) -> list[str]:
    entries: Any = server.xrange(KEY)
    return [key.decode() for key, _ in entries]


def test_a_full_disk_or_a_database_that_is_away_loses_nothing(
    consumer: Consumer, stream_server: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(stream_server, 1)
    failures: Iterator[Exception] = iter([OSError(28, "No space left"), OperationalError("away")])
    write = writing.write_entries

    def write_at_last(*args: Any, **options: Any) -> Segment | None:
        if (failure := next(failures, None)) is not None:
            raise failure
        return write(*args, **options)

    monkeypatch.setattr(writing, "write_entries", write_at_last)
    monkeypatch.setattr(running, "connection", type("Quiet", (), {"close": lambda *_: None})())
    run_sink(consumer, rounds=20)
    assert stored_ids() == [1]


def test_a_sink_starts_at_a_full_server(consumer: Consumer, stream_server: Redis) -> None:
    put(stream_server, 1)
    stream_server.config_set("maxmemory", 1)
    run_sink(Consumer(stream_server, "sink", ["cart_pole"]))
    assert stored_ids() == [1]
    assert stream_server.xlen(KEY) == 0


def test_an_outage_of_the_stream_is_waited_for(
    consumer: Consumer, stream_server: Redis, caplog: pytest.LogCaptureFixture
) -> None:
    away = Consumer(Redis.from_url("redis://127.0.0.1:9"), "sink", ["cart_pole"])
    run_sink(away, rounds=3)
    assert "the stream does not answer" in caplog.text
