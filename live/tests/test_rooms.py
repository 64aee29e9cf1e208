"""A room: one subscription and one look at the database for all of its viewers."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from channels.layers import get_channel_layer
from redis import Redis
from redis.exceptions import RedisError

from live.rooms import Room, SharedRead, Subscription, enter_room, leave_room, list_rooms
from live.viewer_socket import Message, ViewerSocket

GROUP = "board"


class Watcher:
    """A viewer that takes all."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.socket = ViewerSocket(self._receive, self._send, within_s=1)

    async def _receive(self) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def _send(self, message: Message) -> None:
        self.texts.append(message["text"])

    async def sees(self, *texts: str) -> bool:
        for _ in range(300):
            if len(self.texts) >= len(texts):
                break
            await asyncio.sleep(0.01)
        return self.texts == list(texts)


class Reader:
    """What a room reads; it counts how often."""

    def __init__(self, *, exists: bool = True) -> None:
        self.exists, self.n_found, self.n_read = exists, 0, 0

    def find(self) -> Subscription | None:
        self.n_found += 1
        return Subscription((GROUP,), self.read) if self.exists else None

    def read(self) -> Sequence[str]:
        self.n_read += 1
        return (f"snapshot {self.n_read}", "nodes")


async def _send(text: str) -> None:
    await get_channel_layer().group_send(GROUP, {"type": "viewer.text", "text": text})


def _channels() -> int:
    layer: Any = get_channel_layer()
    return len(layer._get_layer().channels)


def _groups() -> int:
    layer: Any = get_channel_layer()
    return len(layer._get_layer().groups)


@asynccontextmanager
async def _watching(n: int, reader: Reader) -> AsyncIterator[tuple[Room, list[Watcher]]]:
    watchers = [Watcher() for _ in range(n)]
    entered = [enter_room("room", watcher.socket, reader.find) for watcher in watchers]
    assert await entered[0].is_open() == reader.exists
    yield entered[0], watchers
    for watcher in watchers:
        leave_room("room", watcher.socket)
        watcher.socket.end()
    await _until_nothing_is_heard()


async def _until_nothing_is_heard() -> None:
    for _ in range(300):
        if not _groups():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("a room that is closed still hears")


@pytest.mark.django_db(transaction=True)
async def test_all_hear_what_was_heard_once(broker: Redis) -> None:
    async with _watching(3, Reader()) as (_, watchers):
        assert _channels() == 1
        for watcher in watchers:
            watcher.socket.begin([])
        await _send("delta")
        assert [await watcher.sees("delta") for watcher in watchers] == [True] * 3


@pytest.mark.django_db(transaction=True)
async def test_those_who_come_together_share_one_look(broker: Redis) -> None:
    reader = Reader()
    async with _watching(20, reader) as (room, watchers):
        read = await asyncio.gather(*(room.read_first_messages() for _ in watchers))
    assert (reader.n_found, reader.n_read) == (1, 1)
    assert {message["text"] for messages in read for message in messages} == {
        "snapshot 1",
        "nodes",
    }


@pytest.mark.django_db(transaction=True)
async def test_one_viewer_that_leaves_takes_nothing_from_the_others(broker: Redis) -> None:
    async with _watching(2, Reader()) as (room, (first, second)):
        future = asyncio.ensure_future(room.read_snapshot())
        await asyncio.sleep(0)
        future.cancel()
        leave_room("room", first.socket)
        snapshot = await room.read_snapshot()
        second.socket.begin([snapshot])
        await _send("delta")
        assert await second.sees(snapshot["text"], "delta")
    assert first.texts == []


@pytest.mark.django_db(transaction=True)
async def test_the_last_viewer_closes_the_room(broker: Redis) -> None:
    reader = Reader()
    for _ in range(2):
        async with _watching(2, reader):
            assert list(list_rooms()) == ["room"]
        assert list(list_rooms()) == []
        assert _channels() == 0
    assert reader.n_found == 2


@pytest.mark.django_db(transaction=True)
async def test_a_viewer_that_goes_at_once_leaves_no_subscription(broker: Redis) -> None:
    watcher = Watcher()
    room = enter_room("room", watcher.socket, Reader().find)
    leave_room("room", watcher.socket)
    assert await room.is_open()
    await _until_nothing_is_heard()


@pytest.mark.django_db(transaction=True)
async def test_a_room_with_nothing_to_see_hears_nothing(broker: Redis) -> None:
    async with _watching(1, Reader(exists=False)):
        assert _channels() == 0


@pytest.mark.django_db(transaction=True)
async def test_a_room_that_hears_no_more_lets_its_viewers_come_back(broker: Redis) -> None:
    watcher = Watcher()
    room = enter_room("room", watcher.socket, Reader().find)
    assert await room.is_open()
    await get_channel_layer().group_send(GROUP, {"type": "no text"})
    assert (await watcher.socket.receive())["type"] == "websocket.disconnect"
    async with _watching(1, Reader()) as (another, _):
        assert another is not room
        assert room.is_over


async def test_nobody_gets_a_read_that_began_before_it_asked() -> None:
    began, go_on = [0], asyncio.Event()

    async def read() -> int:
        began[0] += 1
        mine = began[0]
        await go_on.wait()
        return mine

    shared = SharedRead(read)
    first = asyncio.ensure_future(shared.get())
    while not began[0]:
        await asyncio.sleep(0)
    others = [asyncio.ensure_future(shared.get()) for _ in range(2)]
    await asyncio.sleep(0)
    go_on.set()
    assert await first == 1
    assert await asyncio.gather(*others) == [2, 2]


async def test_a_read_that_fails_fails_for_all_and_the_next_is_a_new_one() -> None:
    faults = [RedisError("away")]

    async def read() -> str:
        if faults:
            raise faults.pop()
        return "there"

    shared = SharedRead(read)
    failed = await asyncio.gather(shared.get(), shared.get(), return_exceptions=True)
    assert [type(fault) for fault in failed] == [RedisError] * 2
    assert await shared.get() == "there"


@pytest.mark.django_db(transaction=True)
async def test_a_room_that_opens_while_the_last_one_closes_hears_all(broker: Redis) -> None:
    for n in range(3):
        watcher = Watcher()
        room = enter_room("room", watcher.socket, Reader().find)
        assert await room.is_open()
        watcher.socket.begin([])
        await asyncio.sleep(0.3)
        await _send(f"delta {n}")
        assert await watcher.sees(f"delta {n}")
        leave_room("room", watcher.socket)
        watcher.socket.end()
    await _until_nothing_is_heard()
