"""The stream: a chunk once, within the quota of its user; how far groups are behind."""

from typing import Any

import pytest
from redis import Redis
from redis.asyncio import Redis as AsyncRedis

from arena.experience.tests.made import SPEC, assert_same, chunk_of
from arena.experience.wire import read_chunk
from experience import stream
from experience.errors import StreamError
from experience.stream import AddedChunk, Sender

KEY = "xp:{cart_pole}"
ANN, BOB = Sender(1, 100, 7), Sender(2, 100, 7)


@pytest.fixture
def client(stream_server: Redis) -> AsyncRedis:
    return AsyncRedis.from_url(f"redis://127.0.0.1:{stream_server.get_connection_kwargs()['port']}")


async def test_a_chunk_is_an_entry_with_its_user_and_its_steps(
    client: AsyncRedis, stream_server: Redis
) -> None:
    chunk = chunk_of()
    outcome, entry_id = await stream.add_chunk(client, chunk, ANN)
    entries: Any = stream_server.xrange(KEY)
    [(key, fields)] = entries
    assert (outcome, entry_id) == ("added", key.decode())
    assert (fields[b"user"], fields[b"n"]) == (b"1", b"25")
    assert_same(read_chunk(fields[b"chunk"], spec=SPEC), chunk)
    assert 86_000 < stream_server.ttl(f"xpid:{{cart_pole}}:{chunk.chunk_id}") <= 86_400


async def test_a_chunk_that_comes_again_is_not_added_again(
    client: AsyncRedis, stream_server: Redis
) -> None:
    await stream.add_chunk(client, chunk_of(), ANN)
    assert await stream.add_chunk(client, chunk_of(), ANN) == AddedChunk("duplicate", "")
    assert stream_server.xlen(KEY) == 1
    assert stream_server.get("xpquota:1:7") == b"25"


async def test_the_chunk_of_another_user_is_told_apart(client: AsyncRedis) -> None:
    await stream.add_chunk(client, chunk_of(), ANN)
    assert await stream.add_chunk(client, chunk_of(), BOB) == AddedChunk("foreign", "")


async def test_a_user_sends_so_many_steps_an_hour(client: AsyncRedis, stream_server: Redis) -> None:
    for seed in range(4):
        assert (await stream.add_chunk(client, chunk_of(seed=seed), ANN)).outcome == "added"
    more = chunk_of((1,), seed=9)
    assert await stream.add_chunk(client, more, ANN) == AddedChunk("quota", "100")
    assert stream_server.xlen(KEY) == 4
    # In the next hour, of another user, and where there is no limit.
    for number, sender in enumerate((ANN._replace(hour=8), BOB, ANN._replace(most=0))):
        chunk = chunk_of((1,), seed=10 + number)
        assert (await stream.add_chunk(client, chunk, sender)).outcome == "added"


async def test_a_full_server_takes_nothing_and_says_so(
    client: AsyncRedis, stream_server: Redis
) -> None:
    await stream.add_chunk(client, chunk_of(seed=1), ANN)
    stream_server.config_set("maxmemory", 1)
    with pytest.raises(StreamError, match="the stream is full"):
        await stream.add_chunk(client, chunk_of(), ANN)
    stream_server.config_set("maxmemory", 0)
    # No trace is left of the one that was refused: it is taken when it comes again.
    assert (await stream.add_chunk(client, chunk_of(), ANN)).outcome == "added"


async def test_a_server_that_is_away_is_said_to_be() -> None:
    client = AsyncRedis.from_url("redis://127.0.0.1:9")
    with pytest.raises(StreamError, match="the stream does not answer"):
        await stream.add_chunk(client, chunk_of(), ANN)
    with pytest.raises(StreamError, match="the stream does not answer"):
        await stream.read_loads(client, "cart_pole", ["sink"])


async def test_without_a_stream_it_is_said_how_to_start_one(settings: Any) -> None:
    settings.STREAM_REDIS_URL = ""
    with pytest.raises(StreamError, match=r"`\./run` starts one"):
        stream.get_client()


async def _loads(client: AsyncRedis, *groups: str) -> list[tuple[str, int]]:
    loads = await stream.read_loads(client, "cart_pole", groups or ["sink"])
    return [(load.name, load.n_waiting) for load in loads]


@pytest.fixture
def entries(stream_server: Redis) -> list[bytes]:
    """Put ten entries for a group that has read none."""
    stream_server.xgroup_create(KEY, "sink", id="0", mkstream=True)
    server: Any = stream_server  # its types know of clients of other kinds, too
    return [server.xadd(KEY, {"n": number}) for number in range(10)]


def _read(server: Redis, count: int, *, group: str = "sink") -> None:
    server.xreadgroup(group, "one", {KEY: ">"}, count=count)


async def test_what_a_learner_holds_does_not_count_as_waiting_for_it(
    client: AsyncRedis, stream_server: Redis, entries: list[bytes]
) -> None:
    group = stream.learn_group("poles")
    stream_server.xgroup_create(KEY, group, id="0")
    _read(stream_server, 4)
    _read(stream_server, 4, group=group)
    assert await _loads(client, "sink", group) == [("sink", 10), (group, 6)]


async def test_nothing_waits_in_a_stream_that_is_not_there(client: AsyncRedis) -> None:
    assert await _loads(client) == [("sink", 0)]


async def test_for_a_group_that_is_not_there_all_entries_wait(
    client: AsyncRedis, entries: list[bytes]
) -> None:
    assert await _loads(client, "sink", "learn:7") == [
        ("sink", 10),
        ("learn:7", 10),
    ]


async def test_what_is_read_and_not_acknowledged_waits(
    client: AsyncRedis, stream_server: Redis, entries: list[bytes]
) -> None:
    _read(stream_server, 6)
    assert await _loads(client) == [("sink", 10)]


async def test_what_is_acknowledged_waits_no_more_though_the_stream_is_as_long(
    client: AsyncRedis, stream_server: Redis, entries: list[bytes]
) -> None:
    _read(stream_server, 10)
    stream_server.xack(KEY, "sink", *entries[:9])
    assert stream_server.xlen(KEY) == 10
    assert await _loads(client) == [("sink", 1)]


async def test_after_a_deletion_at_most_what_is_there_is_said_to_wait(
    client: AsyncRedis, stream_server: Redis, entries: list[bytes]
) -> None:
    _read(stream_server, 2)
    stream_server.xack(KEY, "sink", *entries[:2])
    stream_server.xdel(KEY, entries[5])
    [group] = stream_server.xinfo_groups(KEY)
    assert group["lag"] is None
    assert await _loads(client) == [("sink", 9)]
    _read(stream_server, 10)
    stream_server.xack(KEY, "sink", *entries)
    assert await _loads(client) == [("sink", 0)]


async def test_after_trimming_what_is_left_waits(
    client: AsyncRedis, stream_server: Redis, entries: list[bytes]
) -> None:
    _read(stream_server, 5)
    stream_server.xack(KEY, "sink", *entries[:5])
    stream_server.xtrim(KEY, minid=entries[5], approximate=False)
    assert await _loads(client) == [("sink", 5)]
    stream_server.xtrim(KEY, minid=entries[8], approximate=False)
    assert await _loads(client) == [("sink", 2)]


async def test_a_stream_whose_last_entry_was_read_and_deleted_is_through(
    client: AsyncRedis, stream_server: Redis, entries: list[bytes]
) -> None:
    _read(stream_server, 10)
    stream_server.xack(KEY, "sink", *entries)
    stream_server.xdel(KEY, *entries)
    assert await _loads(client) == [("sink", 0)]
