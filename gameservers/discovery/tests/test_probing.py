"""Who is there? Asked of game servers and of what is none."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from arena.addresses import read_address
from gameservers.discovery import probing
from gameservers.discovery.merging import Answer, Place
from gameservers.discovery.probing import probe_server

HELLO = (
    '[{"kind":"hello","protocol":1,"name":"sim-1","game":"nim","rules_version":1,"slots":8,'
    '"n_seats":2,"n_actions":3,"observation_shape":[1],"observation_dtype":"float32"}]'
)


def place_of(port: int, host: str = "127.0.0.1") -> Place:
    address = read_address(f"{host}:{port}")
    ip = read_address(f"127.0.0.1:{port}").ip
    assert ip is not None
    return Place(address, ip)


async def probe_websocket(answer: Any) -> tuple[Answer, list[str | bytes]]:
    received: list[str | bytes] = []

    async def talk(line: ServerConnection) -> None:
        with suppress(Exception):
            received.append(await line.recv())
            if answer is not None:
                await line.send(answer)
            await line.wait_closed()

    async with serve(talk, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        result = await probe_server(place_of(port))
        server.close(close_connections=True)
    return result, received


async def probe_socket(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> Answer:
    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        return await probe_server(place_of(server.sockets[0].getsockname()[1]))


async def test_a_game_server_says_its_game_and_its_slots() -> None:
    answer, received = await probe_websocket(HELLO)
    assert answer == Answer(game="nim", slots=8)
    assert received == ['[{"kind":"hello","protocol":1,"game":""}]']


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (None, "has not answered within 0.3 s"),
        ("nonsense", "is no game server: no frame"),
        (b"\x80\x04N.", "is no game server: no frame"),
        ("[]", "is no game server: it says no hello"),
        ('[{"kind":"state","episode":1,"step":0,"seat":0}]', "it says no hello"),
        ('[{"kind":"error","reason":"stopping","detail":"soon"}]', "who it is: stopping: soon"),
        ("x" * (5 << 20), "is no game server"),
    ],
)
async def test_a_websocket_that_is_no_game_server_is_refused(
    sent: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probing, "LIMIT_S", 0.3)
    answer, _ = await probe_websocket(sent)
    assert reason in answer.refusal
    assert answer.refusal.isprintable()


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "answers HTTP 200 to a WebSocket"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", "answers HTTP 502"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is no game server"),
        (b"", "is no game server"),
    ],
)
async def test_another_program_is_refused(sent: bytes, reason: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)
        writer.close()

    answer = await probe_socket(talk)
    assert reason in answer.refusal


async def test_a_port_where_nobody_listens_is_unreachable() -> None:
    async with await asyncio.start_server(lambda *_: None, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
    assert "cannot be reached" in (await probe_server(place_of(port))).refusal


async def test_it_connects_to_the_ip_address_and_never_looks_up_the_name() -> None:
    async def talk(line: ServerConnection) -> None:
        await line.recv()
        await line.send(HELLO)

    async with serve(talk, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        answer = await probe_server(place_of(port, "no-such-name.invalid"))
    assert answer.game == "nim"


async def test_a_redirect_is_not_followed() -> None:
    n_connections = 0

    async def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_connections
        n_connections += 1
        writer.close()

    async with await asyncio.start_server(count, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        location = f"ws://127.0.0.1:{port}/".encode()

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n")
            writer.write(b"Content-Length: 0\r\n\r\n")
            writer.close()

        answer = await probe_socket(redirect)
    assert "answers HTTP 302 to a WebSocket" in answer.refusal
    assert n_connections == 0
