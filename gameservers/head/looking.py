"""Look at servers that listen: dial, say hello, read who it is, hang up."""

import asyncio
import time

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException

from arena.errors import MessageError
from arena.games.line_messages import (
    ANY_GAME,
    MAX_FRAME,
    PROTOCOL,
    ErrorMessage,
    PlayerHello,
    ServerHello,
    encode_frame,
    read_frame,
)
from gameservers.errors import GameServerError
from gameservers.head.servers import KnownServer, ServerBoard, State

LOOK_S = 5.0
EVERY_S = 5.0
# Looks at the same time: a thousand servers are no reason for a thousand sockets.
MAX_LOOKS = 64


class LookError(GameServerError):
    """What an address answered is no game server that could be played on."""


class _Line(connect):
    """A dialled line that follows nobody elsewhere."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Take a redirect for what it is here: no game server. It could lead anywhere."""
        return exc


async def look_at_server(address: str) -> ServerHello:
    """Return the hello of the server at an address, ws://... Raises LookError."""
    try:
        async with asyncio.timeout(LOOK_S):
            # No proxy of our environment: it would dial what our own rules refuse.
            async with _Line(address, proxy=None, max_size=MAX_FRAME, compression=None) as line:
                hello = PlayerHello(protocol=PROTOCOL, game=ANY_GAME)
                await line.send(encode_frame([hello]).decode())
                return _read_hello(await line.recv())
    except TimeoutError as error:
        raise LookError(
            f"says nothing within {LOOK_S:g} s: does the server hang, or a firewall drop its port?"
        ) from error
    except ConnectionRefusedError as error:
        raise LookError("refuses the line: is the server running, on this port?") from error
    except InvalidURI as error:
        raise LookError("is no address of a WebSocket: ws://host:port is needed") from error
    except InvalidHandshake as error:
        raise LookError(f"is no game server, it answers otherwise: {error}"[:300]) from error
    except (OSError, WebSocketException) as error:
        raise LookError(f"broke the line: {type(error).__name__}: {error}"[:300]) from error


def _read_hello(frame: str | bytes) -> ServerHello:
    try:
        messages = read_frame(frame)
    except MessageError as error:
        raise LookError(f"says no hello: {error}"[:300]) from error
    for message in messages[:1]:
        if isinstance(message, ServerHello):
            return message
        if isinstance(message, ErrorMessage):
            raise LookError(f"refuses us: {message.reason}: {message.detail}"[:300])
    raise LookError("says no hello: its first message must be one")


async def look_at_all(board: ServerBoard) -> None:
    """Look at every server that listens; write down what it said, or why nothing was said."""
    turns = asyncio.Semaphore(MAX_LOOKS)

    async def look(known: KnownServer) -> None:
        async with turns:
            began = time.monotonic()
            try:
                hello = await look_at_server(known.address)
            except LookError as error:
                if known.state != State.GONE:
                    known.become(State.UNREACHABLE, str(error), now=time.time())
                return
        took_ms = 1000 * (time.monotonic() - began)
        if known.state != State.GONE:
            board.note_hello(known, hello, now=time.time(), latency_ms=took_ms)

    await asyncio.gather(*map(look, board.list_listening()))
