"""Probes a game server, at the IP address that was admitted and nowhere else."""

import asyncio
import ssl
from typing import Any, Final

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

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
from gameservers.discovery.merging import Answer, Place
from gameservers.discovery.openenv import Target, greet_environment
from gameservers.discovery.sightings import LookError, shorten

LIMIT_S: Final = 2.5


async def probe_server(place: Place) -> Answer:
    """Return what a server says of itself; the refusal says what to look at."""
    try:
        hello = await greet_server(place)
    except LookError as error:
        return Answer(str(error))
    return Answer(game=hello.game, slots=hello.slots)


async def greet_server(place: Place) -> ServerHello:
    """Return the hello of a server. Raises LookError, which says what to look at."""
    address = place.address
    if place.environment:
        return await greet_environment(Target(place.environment, address, str(place.ip)))
    try:
        async with asyncio.timeout(LIMIT_S):
            frame = await _exchange_hellos(place)
    except TimeoutError as error:
        late = f"has not answered within {LIMIT_S:g} s: is the port open?"
        raise LookError(f"{address} {late}") from error
    except InvalidStatus as error:
        status = error.response.status_code
        no_server = f"answers HTTP {status} to a WebSocket: it is no game server"
        raise LookError(f"{address} {no_server}") from error
    except OSError as error:
        reason = error.strerror or shorten(error)
        raise LookError(f"{address} cannot be reached: {reason}") from error
    except WebSocketException as error:
        raise LookError(f"{address} is no game server: {shorten(error)}") from error
    return _read_hello(place, frame)


async def _exchange_hellos(place: Place) -> str | bytes:
    # No proxy of our environment: it would look the name up itself, and go where it likes.
    options: dict[str, Any] = {"proxy": None, "max_size": MAX_FRAME, "compression": None}
    if place.address.is_tls:
        options["ssl"] = ssl.create_default_context()
        options["server_hostname"] = place.host
    connection = await _NoRedirect(place.url, **options)
    try:
        hello = PlayerHello(protocol=PROTOCOL, game=ANY_GAME)
        await connection.send(encode_frame([hello]).decode())
        return await connection.recv()
    finally:
        # Not closed in order: nobody waits for the farewell of a server that hangs.
        connection.transport.abort()


def _read_hello(place: Place, frame: str | bytes) -> ServerHello:
    try:
        first = next(iter(read_frame(frame)), None)
    except MessageError as error:
        raise LookError(f"{place.address} is no game server: {shorten(error)}") from error
    if isinstance(first, ServerHello):
        return first
    if isinstance(first, ErrorMessage):
        reason = shorten(f"{first.reason}: {first.detail}")
        raise LookError(f"{place.address} refuses to say who it is: {reason}")
    raise LookError(f"{place.address} is no game server: it says no hello")


class _NoRedirect(connect):
    """A connection to where it is told to go, and to nowhere else."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Return the error: an address that a server names has been admitted by nobody."""
        return exc
