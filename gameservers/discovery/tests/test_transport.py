"""HTTP against real sockets: what answers, and what hangs, drips, lies or leads elsewhere."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from gameservers.discovery import transport
from gameservers.discovery.sightings import LookError
from gameservers.discovery.transport import Call, ask

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Serve = Callable[[Talk], Awaitable[str]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    servers = []

    async def start(talk: Talk) -> str:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        servers.append(server)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    yield start
    for server in servers:
        server.close()


def answer(*parts: bytes, wait_s: float = 0.0) -> Talk:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for part in parts:
            writer.write(part)
            await asyncio.sleep(wait_s)
        writer.close()

    return talk


async def test_a_request_and_its_reply_arrive_as_they_were_sent(serve: Serve) -> None:
    requests = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"}"))
        writer.write(
            b"HTTP/1.1 200 OK\r\nX-Skypilot-Request-ID: a-1\r\nContent-Length: 4\r\n\r\nnu"
        )
        writer.write(b"ll")
        writer.close()

    url = await serve(talk)
    reply = await ask(Call("POST", f"{url}/status?a=b", {"Authorization": "Bearer x"}, b"{}"))
    assert (reply.status, reply.body) == (200, b"null")
    assert reply.headers["x-skypilot-request-id"] == "a-1"
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /status?a=b HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Authorization: Bearer x" in head
    assert body == b"{}"


@pytest.mark.parametrize(
    ("talk", "reason"),
    [
        (answer(b"", wait_s=5), "has not answered within 0.2 s"),
        (answer(*[b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 99], wait_s=0.05), "has not answered"),
        (answer(b"SSH-2.0-OpenSSH_9.2\r\n"), "does not speak HTTP"),
        (answer(b"\x80\x04N."), "does not speak HTTP"),
        (answer(b""), "does not speak HTTP"),
        (answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), "does not speak HTTP"),
        (answer(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + b"x" * 99), "more than 0 MiB"),
    ],
)
async def test_what_a_broken_server_does_is_a_reason(
    serve: Serve, talk: Talk, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "MAX_REPLY", 50)
    url = await serve(talk)
    with pytest.raises(LookError, match=reason) as refused:
        await ask(Call("GET", url, limit_s=0.2))
    assert str(refused.value).isprintable()


async def test_a_port_where_nobody_listens_is_a_reason(serve: Serve) -> None:
    url = await serve(answer())
    port = int(url.rpartition(":")[2])
    with pytest.raises(LookError, match="cannot be reached"):
        await ask(Call("GET", f"http://127.0.0.2:{port}", limit_s=2))


async def test_a_server_without_tls_is_a_reason_where_tls_is_asked_for(serve: Serve) -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    url = await serve(talk)
    with pytest.raises(LookError, match="TLS failed"):
        await ask(Call("GET", url.replace("http:", "https:"), limit_s=2))


async def test_a_redirect_is_an_answer_and_leads_nowhere(serve: Serve) -> None:
    n_connections = 0

    async def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal n_connections
        n_connections += 1
        writer.close()

    other = await serve(count)
    redirect = f"HTTP/1.1 302 Found\r\nLocation: {other}/\r\nContent-Length: 0\r\n\r\n"
    url = await serve(answer(redirect.encode()))
    assert (await ask(Call("GET", url))).status == 302
    assert n_connections == 0
