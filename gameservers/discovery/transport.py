"""HTTP as discovery needs it: one request, one reply, one limit of time for both.

No redirect is followed and no proxy used: what is asked is what is named. A limit of the whole,
since a server that sends a byte now and then never runs into one of a single read.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import h11

from gameservers.discovery.sightings import LookError

MAX_REPLY = 16 << 20
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Call:
    """A request; `url` has no user name in it."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    limit_s: float = 10.0
    # Connected to instead of looking the host up.
    ip: str = ""


@dataclass(frozen=True)
class Reply:
    """An answer; names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[[Call], Awaitable[Reply]]


async def ask(call: Call) -> Reply:
    """Return the answer to a request. Raises LookError that names the server and what is wrong."""
    parts = urlsplit(call.url)
    server = f"{parts.scheme}://{parts.netloc}"
    try:
        async with asyncio.timeout(call.limit_s):
            return await _exchange_call(call)
    except TimeoutError as error:
        raise LookError(f"{server} has not answered within {call.limit_s:g} s") from error
    except ssl.SSLError as error:
        raise LookError(f"{server}: TLS failed: {error.reason or error}") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise LookError(f"{server} cannot be reached: {why}") from error
    except (h11.ProtocolError, ValueError) as error:
        raise LookError(f"{server} does not speak HTTP: {error}") from error


async def _exchange_call(call: Call) -> Reply:
    parts = urlsplit(call.url)
    is_tls = parts.scheme == "https"
    reader, writer = await asyncio.open_connection(
        call.ip or parts.hostname,
        parts.port or (443 if is_tls else 80),
        ssl=ssl.create_default_context() if is_tls else None,
        server_hostname=parts.hostname if is_tls else None,
    )
    try:
        connection = h11.Connection(h11.CLIENT)
        for event in _list_events(call):
            writer.write(connection.send(event) or b"")
        await writer.drain()
        return await _read_reply(connection, reader)
    finally:
        # Not closed in order: nobody waits for the farewell of a server that hangs.
        writer.transport.abort()


def _list_events(call: Call) -> list[h11.Request | h11.Data | h11.EndOfMessage]:
    parts = urlsplit(call.url)
    target = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
    headers = {
        "Host": parts.netloc,
        "Accept": "application/json",
        "Connection": "close",
        "Content-Length": str(len(call.body)),
        **call.headers,
    }
    request = h11.Request(method=call.method, target=target, headers=list(headers.items()))
    return [request, h11.Data(data=call.body), h11.EndOfMessage()]


async def _read_reply(connection: h11.Connection, reader: asyncio.StreamReader) -> Reply:
    status, headers, body = 0, {}, bytearray()
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_CHUNK))
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += event.data
            if len(body) > MAX_REPLY:
                raise LookError(f"an answer of more than {MAX_REPLY >> 20} MiB is not read")
        elif isinstance(event, h11.EndOfMessage):
            return Reply(status, headers, bytes(body))
        elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            raise LookError("the connection was closed in the middle of an answer")
