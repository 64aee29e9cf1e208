"""The SDK over real sockets and pipes."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve as listen_at
from websockets.exceptions import ConnectionClosed
from websockets.typing import Origin

from gameservers import sdk
from gameservers.tests.games import Nim

HELLO = json.dumps([{"kind": "hello", "protocol": 1, "game": "nim"}])
LIMIT_S = 20


@pytest.fixture
def free_port() -> Any:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(number: int, **parameters: Any) -> Any:
    return json.dumps([{"kind": "start", "episode": number, "seed": 7, "parameters": parameters}])


def act(number: int, step: int, action: Any) -> Any:
    return json.dumps([{"kind": "act", "episode": number, "step": step, "action": action}])


@asynccontextmanager
async def running(server: sdk.Server, **options: Any) -> Any:
    """Yield what stops it, and the task that then ends."""
    stop = asyncio.Event()
    task = asyncio.create_task(sdk.run(server, stop, **options))
    try:
        yield stop, task
    finally:
        stop.set()
        async with asyncio.timeout(LIMIT_S):
            await task


@asynccontextmanager
async def listening(capsys: pytest.CaptureFixture[str], **options: Any) -> Any:
    """Yield a server that listens, the address, and what stops it."""
    server = sdk.Server(Nim, name="sim-1", slots=4)
    async with running(server, listen="127.0.0.1:0", **options) as (stop, task):
        text = await wait_for_text(capsys, "serves nim at ")
        yield server, text.split("serves nim at ")[1].split()[0], stop, task


async def wait_for_text(capsys: pytest.CaptureFixture[str], words: str) -> Any:
    text = ""
    async with asyncio.timeout(LIMIT_S):
        while words not in text:
            await asyncio.sleep(0.01)
            text += capsys.readouterr().err
    return text


async def test_players_share_a_server_and_episodes_end_with_their_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with listening(capsys) as (server, address, _, _):
        async with connect(address) as first, connect(address) as second:
            for player in (first, second):
                await player.send(HELLO)
                assert json.loads(await player.recv())[0]["name"] == "sim-1"
                await player.send(start(1))
                state, _ = json.loads(await player.recv())
                raw = await player.recv(decode=False)
                assert np.frombuffer(raw, "<f4", 2, state["at"]).tolist() == [15, 7]
            assert server.n_running == 2
            await first.send(act(1, 0, 2))
            assert json.loads(await first.recv())[0]["step"] == 1
        async with asyncio.timeout(LIMIT_S):
            while server.n_running:
                await asyncio.sleep(0.01)


async def test_health_says_who_it_is_and_pages_are_no_players(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with listening(capsys) as (_, address, _, _):
        url = address.replace("ws", "http", 1) + "/health"
        health = json.loads(await asyncio.to_thread(lambda: urlopen(url).read()))

        assert (health["game"], health["load"]["playing"]) == ("nim", 0)
        with pytest.raises(Exception, match="403"):
            await connect(address, origin=Origin("http://elsewhere.example"))


async def test_a_frame_of_more_than_four_mib_ends_the_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with listening(capsys) as (_, address, _, _):
        player = await connect(address)
        with suppress(ConnectionClosed):
            await player.send("[" + " " * sdk.MAX_FRAME + "]")
        # Reset where the rest of the frame was still on its way, else closed with 1009.
        with pytest.raises(ConnectionClosed):
            await player.recv()


async def test_what_runs_ends_or_is_handed_back_when_the_server_stops(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with listening(capsys, notice_s=0.3) as (server, address, stop, task):
        async with connect(address) as player:
            await player.send(HELLO)
            await player.recv()
            for number in (1, 2):
                await player.send(start(number, counters=1))
                await player.recv(), await player.recv()
            stop.set()
            while not server.is_stopping:
                await asyncio.sleep(0.01)
            await player.send(act(1, 0, 0))
            await player.send(start(3))

            assert json.loads(await player.recv())[0]["returns"] == [1.0, -1.0]
            assert json.loads(await player.recv())[0]["reason"] == "stopping"
            (handed_back,) = json.loads(await player.recv())
            assert (handed_back["reason"], "episode" in handed_back) == ("stopping", False)
            await player.wait_closed()
        await task
        assert server.n_running == 0


class FakeHead:
    """Accepts a server, and asks it for one line on which a player's words are spoken."""

    def __init__(self, *, refuses: str = "", wants_line: bool = True) -> None:
        self.refuses, self.wants_line = refuses, wants_line
        self.hellos: list[sdk.Message] = []
        self.heard: asyncio.Queue[Any] = asyncio.Queue()
        self.is_left = asyncio.Event()

    async def answer(self, line: Any) -> None:
        if line.request.path.startswith("/serve/"):
            await line.send(HELLO)
            self.heard.put_nowait((line.request.path, json.loads(await line.recv())))
            await line.send(start(1))
            self.heard.put_nowait(json.loads(await line.recv()))
            return
        async for text in line:
            for message in json.loads(text) if text.startswith("[") else [json.loads(text)]:
                await self.take(line, message)

    async def take(self, line: Any, message: sdk.Message) -> None:
        if message["kind"] == "leaving":
            self.is_left.set()
            return
        self.hellos.append(message)
        if self.refuses:
            error = {"kind": "error", "reason": "refused", "detail": self.refuses}
            await line.send(json.dumps(error))
        elif len(self.hellos) == 1:
            await line.send('{"kind":"accepted"}')
            if self.wants_line:
                await line.send('{"kind":"dial","channel":"c1"}')


async def test_a_server_waits_for_its_head_and_opens_the_lines_that_it_asks_for(
    capsys: pytest.CaptureFixture[str], free_port: int
) -> None:
    head = FakeHead()
    server = sdk.Server(Nim, name="sim-1", key="secret", now=lambda: 1_000)
    async with running(server, dial=f"http://127.0.0.1:{free_port}/") as (stop, _):
        output = await wait_for_text(capsys, "cannot reach")
        assert f"ws://127.0.0.1:{free_port}" in output
        assert "check host and port" in output
        async with listen_at(head.answer, "127.0.0.1", free_port):
            async with asyncio.timeout(LIMIT_S):
                path, answer = await head.heard.get()
            # No pass was shown on the line, so a server with a key refuses to play.
            assert (path, answer[0]["reason"]) == ("/serve/c1", "refused")
            assert "is known to the head" in await wait_for_text(capsys, "is known")
            stop.set()
            await head.is_left.wait()
    assert sdk.refuse_pass("secret", head.hellos[0]["token"], "serve:sim-1", 1_000) == ""
    assert head.hellos[0]["game"] == "nim"


async def test_players_play_through_the_head(
    capsys: pytest.CaptureFixture[str], free_port: int
) -> None:
    head = FakeHead()
    server, dial = sdk.Server(Nim, name="sim-1"), f"127.0.0.1:{free_port}"
    async with listen_at(head.answer, "127.0.0.1", free_port), running(server, dial=dial):
        async with asyncio.timeout(LIMIT_S):
            _, hello = await head.heard.get()
            state, _ = await head.heard.get()
    assert (hello[0]["kind"], state["seat"]) == ("hello", 0)


async def test_it_is_told_once_why_a_head_refuses(
    capsys: pytest.CaptureFixture[str], free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "FIRST_WAIT_S", 0.01)
    head = FakeHead(refuses="its pass ended")
    server, dial = sdk.Server(Nim, name="sim-1"), f"127.0.0.1:{free_port}"
    async with listen_at(head.answer, "127.0.0.1", free_port), running(server, dial=dial):
        async with asyncio.timeout(LIMIT_S):
            while len(head.hellos) < 3:
                await asyncio.sleep(0.01)
    assert capsys.readouterr().err.count("refuses this server: its pass ended") == 1


@pytest.mark.parametrize(
    ("address", "words"),
    [("ftp://head:1", "must be an address"), ("ws://:1", "must be"), ("head:99999", "must be")],
)
def test_a_bad_address_of_a_head_is_named(address: str, words: str) -> None:
    with pytest.raises(sdk.ServerError, match=words):
        sdk.read_head(address)


@pytest.mark.parametrize(
    ("address", "read"),
    [
        ("head:8080", "ws://head:8080"),
        ("http://head:8080/", "ws://head:8080"),
        ("https://head/path/", "wss://head/path"),
    ],
)
def test_a_head_may_be_given_as_people_write_it(address: str, read: str) -> None:
    assert sdk.read_head(address) == read


async def test_a_head_that_is_none_is_told_apart(
    capsys: pytest.CaptureFixture[str], free_port: int
) -> None:
    async with listen_at(
        FakeHead().answer, "127.0.0.1", free_port,
        process_request=lambda line, _: line.respond(404, "nothing here\n"),
    ), running(sdk.Server(Nim, name="sim-1"), dial=f"127.0.0.1:{free_port}"):  # fmt: skip
        assert "answers HTTP 404: nothing here" in await wait_for_text(capsys, "HTTP")


def run_program(text: str) -> Any:
    return subprocess.Popen(
        [sys.executable, "-c", f"from gameservers.tests.games import Nim\n{text}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_child_answers_over_pipes_whatever_it_prints() -> None:
    program = """
import sys
from gameservers import sdk
class Loud(Nim):
    def reset(self, *given: str) -> None:
        super().reset(*given)
        print("hear me")
sdk.serve_pipes(Loud)
"""
    with run_program(program) as child:
        child.stdin.write(f"{HELLO}\n{start(1)}\n".encode())
        child.stdin.flush()
        hello = json.loads(child.stdout.readline())
        state, count = json.loads(child.stdout.readline())
        raw = child.stdout.read(count["n"])
        out, error = child.communicate(timeout=LIMIT_S)

    assert (hello[0]["kind"], state["legal"], out) == ("hello", [0, 1, 2], b"")
    assert np.frombuffer(raw, "<f4").tolist() == [15, 7]
    assert (child.returncode, b"hear me" in error) == (0, True)


def test_sigterm_ends_a_server_with_status_0() -> None:
    program = """
from gameservers.sdk import serve
serve(Nim, name="sim-1", listen="127.0.0.1:0")
"""
    with run_program(program) as child:
        assert b"sim-1 serves nim at ws://127.0.0.1:" in child.stderr.readline()
        child.send_signal(signal.SIGTERM)
        _, error = child.communicate(timeout=LIMIT_S)

    assert (child.returncode, error) == (0, b"")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "sim-1: neither listen nor dial is given"),
        ({"listen": "nowhere"}, "listen is 'nowhere'"),
        ({"listen": "127.0.0.1:70000"}, "listen is"),
        ({"listen": "192.0.2.1:8081"}, "cannot listen at 192.0.2.1:8081"),
        ({"dial": "ftp://x"}, "the head is 'ftp://x'"),
    ],
)
def test_a_server_that_cannot_start_says_why_in_one_line(
    options: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        sdk.serve(Nim, name="sim-1", **options)

    text = capsys.readouterr().err
    assert (ended.value.code, text.count("\n")) == (2, 1)
    assert words in text
