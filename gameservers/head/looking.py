"""Look at the servers that listen: say hello to each, write down what it said."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from arena.games.line_messages import ServerHello
from gameservers.discovery.merging import Place
from gameservers.discovery.sightings import LookError
from gameservers.head.servers import KnownServer, ServerBoard, State

EVERY_S = 5.0
# Looks at the same time: a thousand servers are no reason for a thousand sockets.
MAX_LOOKS = 64

# Returns the hello of a server. Raises LookError.
Greet = Callable[[Place], Awaitable[ServerHello]]


async def look_at_all(board: ServerBoard, greet: Greet) -> None:
    """Look at every server that listens; write down what it said, or why nothing was said."""
    turns = asyncio.Semaphore(MAX_LOOKS)

    async def look(server: KnownServer, place: Place) -> None:
        async with turns:
            began = time.monotonic()
            try:
                hello = await greet(place)
            except LookError as error:
                if server.state != State.GONE:
                    server.become(State.UNREACHABLE, str(error), now=time.time())
                return
        took_ms = 1000 * (time.monotonic() - began)
        if server.state != State.GONE:
            board.note_hello(server, hello, now=time.time(), latency_ms=took_ms)

    await asyncio.gather(
        *(look(server, server.place) for server in board.list_listening() if server.place)
    )
