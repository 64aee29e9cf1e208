"""A viewer that reads nothing is left, and nobody waits for it."""

import asyncio
import base64
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis import Redis
from websockets.sync.client import connect
from websockets.typing import Origin

from live import consumers
from live.rooms import ROOMS
from live.viewer_socket import MAX_WAITING, Message, ViewerSocket
from matches.board import broadcast
from matches.store.clock import db_now
from matches.tests import factories
from tests.browser import free_port, web_server

BOARD = "/ws/leaderboards/board/"
TOO_LONG_S = 0.3


async def _never() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


async def test_what_does_not_leave_in_time_ends_the_socket() -> None:
    sent: list[Message] = []

    async def stuck(message: Message) -> None:
        sent.append(message)
        await _never()

    socket = ViewerSocket(_never, stuck, within_s=0.01)
    await socket.send({"type": "websocket.send", "text": "1"})
    await socket.send({"type": "websocket.send", "text": "2"})
    assert [message["text"] for message in sent] == ["1"]
    assert (await socket.receive())["type"] == "websocket.disconnect"


async def test_a_socket_that_takes_all_passes_on_both_ways() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "websocket.receive", "text": "ask"}

    socket = ViewerSocket(receive, send, within_s=0.01)
    await socket.send({"type": "websocket.send", "text": "1"})
    assert (await socket.receive())["text"] == "ask"
    assert len(sent) == 1


async def test_who_waits_for_a_viewer_hears_that_it_was_given_up() -> None:
    socket = ViewerSocket(_never, lambda _: _never(), within_s=0.01)  # type: ignore[arg-type,return-value]
    waiting = asyncio.ensure_future(socket.receive())
    await socket.send({"type": "websocket.send"})
    assert (await waiting)["type"] == "websocket.disconnect"


async def test_a_consumer_that_ends_takes_back_what_it_waited_for() -> None:
    socket = ViewerSocket(_never, lambda _: _never(), within_s=1)  # type: ignore[arg-type,return-value]
    waiting = asyncio.ensure_future(socket.receive())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert [task for task in asyncio.all_tasks() if "_never" in repr(task)] == []


async def test_what_is_posted_leaves_in_its_turn_after_the_beginning() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    socket = ViewerSocket(_never, send, within_s=1)
    socket.post({"type": "websocket.send", "text": "2"})
    socket.begin([{"type": "websocket.send", "text": "0"}, {"type": "websocket.send", "text": "1"}])
    socket.post({"type": "websocket.send", "text": "3"})
    await asyncio.sleep(0.01)
    assert [message["text"] for message in sent] == ["0", "1", "2", "3"]
    socket.end()


async def test_only_so_much_waits_for_a_viewer() -> None:
    socket = ViewerSocket(_never, lambda _: _never(), within_s=60)  # type: ignore[arg-type,return-value]
    for _ in range(MAX_WAITING):
        socket.post({"type": "websocket.send"})
    assert not socket.is_given_up
    socket.post({"type": "websocket.send"})
    assert (await socket.receive())["type"] == "websocket.disconnect"


async def test_a_viewer_that_goes_while_something_is_sent_is_no_fault() -> None:
    async def gone(message: Message) -> None:
        raise OSError

    socket = ViewerSocket(_never, gone, within_s=1)
    socket.begin([{"type": "websocket.send"}])
    await asyncio.sleep(0.01)
    assert not socket.is_given_up


async def test_nothing_follows_the_end() -> None:
    sent: list[str] = []

    async def send(message: Message) -> None:
        sent.append(message["type"])

    socket = ViewerSocket(_never, send, within_s=1)
    socket.begin([])
    await socket.send({"type": "websocket.close"})
    socket.post({"type": "websocket.send"})
    await asyncio.sleep(0.01)
    assert sent == ["websocket.close"]


@pytest.fixture
def site(transactional_db: None, broker: Redis, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run the web server, which waits less long than in production."""
    monkeypatch.setattr(consumers, "SEND_WITHIN_S", TOO_LONG_S)
    with web_server(free_port()) as address:
        yield address


def _deaf(address: str) -> socket.socket:
    """Return a viewer that will read nothing but the beginning of what it is sent."""
    place = urlsplit(address)
    viewer = socket.socket()
    viewer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    viewer.connect((place.hostname, place.port))
    lines = (
        f"GET {BOARD} HTTP/1.1",
        f"Host: {place.netloc}",
        f"Origin: {address}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
    )
    viewer.sendall("\r\n".join((*lines, "", "")).encode())
    assert viewer.recv(12) == b"HTTP/1.1 101"
    return viewer


def _list_sockets() -> list[ViewerSocket]:
    """Return the sockets of all viewers of the web server, which is a thread of this process."""
    return [
        socket for rooms in ROOMS.values() for room in rooms.values() for socket in room.sockets
    ]


def _wait(condition: Callable[[], bool], limit_s: float = 10) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_a_deaf_viewer_is_left_and_others_hear_everything(
    site: str, caplog: pytest.LogCaptureFixture
) -> None:
    board = factories.planned().leaderboard
    broadcast.publish(board.pk, now=db_now())
    group = broadcast.group(board.pk)
    layer: Any = get_channel_layer()
    send = async_to_sync(layer.group_send)
    address = site.replace("http", "ws") + BOARD
    with closing(_deaf(site)), connect(address, origin=Origin(site)) as good:
        _wait(lambda: len(_list_sockets()) == 2)
        good.recv(), good.recv()
        n_sent, slowest_s = 0, 0.0
        with caplog.at_level(logging.WARNING, "live.viewer_socket"):
            while "took nothing" not in caplog.text:
                assert n_sent < 200, "the deaf viewer is still waited for"
                before = time.monotonic()
                send(group, {"type": "viewer.text", "text": "x" * 200_000})
                assert len(good.recv(timeout=5)) == 200_000
                slowest_s = max(slowest_s, time.monotonic() - before)
                n_sent += 1
        assert slowest_s < 1
        _wait(lambda: len(_list_sockets()) == 1)
        send(group, {"type": "viewer.text", "text": "after"})
        assert good.recv(timeout=5) == "after"
