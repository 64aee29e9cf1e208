"""A head that runs in a thread of the test, and a game server that says what it is told to."""

import asyncio
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from websockets.asyncio.server import serve as listen
from websockets.sync.client import ClientConnection, connect

from gameservers.discovery.settings import build_registry
from gameservers.head.access import Door
from gameservers.head.app import Head
from gameservers.head.bucket import Bucket
from gameservers.head.command import uvicorn_options
from gameservers.head.settings import HeadSettings

PASS_KEY = "5" * 64
GAME = "connect_four"
WITHIN_S = 10.0


def hello(name: str = "sim-1", **changes: Any) -> dict[str, Any]:
    """Return the hello of a server of connect_four."""
    return {
        "kind": "hello",
        "protocol": 1,
        "name": name,
        "game": GAME,
        "rules_version": 1,
        "slots": 64,
        "n_seats": 2,
        "n_actions": 7,
        "observation_shape": [3, 6, 7],
        "observation_dtype": "float32",
        "load": {"cpu": 0.5, "memory": 0.25, "playing": 3, "episodes": 40},
        **changes,
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Running:
    """The address of a head, and calls of it."""

    def __init__(self, head: Head, port: int) -> None:
        self.head, self.port = head, port
        self.http, self.ws = f"http://127.0.0.1:{port}", f"ws://127.0.0.1:{port}"

    def call(
        self,
        path: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        """Return status and body of an answer; with a body it is a POST."""
        request = urllib.request.Request(self.http + path, body, dict(headers or {}))
        try:
            with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def rows(self) -> dict[str, dict[str, Any]]:
        """Return what the head knows of servers, by name."""
        servers = json.loads(self.call("/discovered")[1])["discovered"]
        return {row["name"]: row for row in servers}

    def dial_in(self, name: str = "sim-1", **changes: Any) -> ClientConnection:
        """Return the standing line of a server that has been accepted."""
        line = connect(f"{self.ws}/serve", legacy=True)
        line.send(json.dumps([hello(name, **changes)]))
        assert json.loads(line.recv(WITHIN_S)) == {"kind": "accepted"}
        return line


def wait_until(holds: Callable[[], object], what: str) -> None:
    until = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < until, f"not within {WITHIN_S} s: {what}"
        time.sleep(0.02)


@contextmanager
def running_head(
    own: HeadSettings | None = None,
    *,
    addresses: Sequence[str] = (),
    bucket: Bucket | None = None,
    port: int = 0,
) -> Iterator[Running]:
    """Run a head on a free port; addresses: of servers."""
    port = port or free_port()
    own = own or HeadSettings(port=port, play_address=f"ws://127.0.0.1:{port}", door=Door(PASS_KEY))

    listed = {"EVALSITE_GAME_SERVERS": ",".join(addresses)}
    head = Head(own, build_registry(listed, probe=None), bucket=bucket)
    server = uvicorn.Server(uvicorn.Config(head.make_app(), port=port, **uvicorn_options()))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive(), "the head listens")
    try:
        yield Running(head, port)
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serving(say: Callable[[], str | None]) -> Iterator[str]:
    """Listen as a game server that says one thing to whoever dials, or None: nothing."""
    port, is_over = free_port(), threading.Event()

    async def answer(line: Any) -> None:
        await line.recv()
        if (text := say()) is not None:
            await line.send(text)
        await line.wait_closed()

    async def serve() -> None:
        async with listen(answer, "127.0.0.1", port):
            is_up.set()
            await asyncio.to_thread(is_over.wait)

    is_up = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert is_up.wait(WITHIN_S)
    try:
        yield f"ws://127.0.0.1:{port}"
    finally:
        is_over.set()
        thread.join()
