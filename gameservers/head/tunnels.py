"""A way to servers that no player can dial: they dial us, and we join the two ends.

A server keeps one line open at /serve. For each player it is asked for one more, /serve/<channel>,
and what comes out of one end goes into the other, frame by frame, unread. No frame is taken from
one end before the other has taken the last: who is slow slows the other, and nothing piles up here.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from gameservers.errors import GameServerError
from gameservers.head.serving_messages import dial

DIAL_S = 5.0
GOING_AWAY = 1001


class TunnelError(GameServerError):
    """No line to a server can be had; the message says why."""


@dataclass
class Channel:
    """A line that a server is asked for: its socket when it has come, and when it is done with."""

    socket: asyncio.Future[WebSocket] = field(default_factory=asyncio.Future)
    is_done: asyncio.Event = field(default_factory=asyncio.Event)


class ServingLine:
    """The standing line of one server that dialled in."""

    def __init__(self, socket: WebSocket, name: str, channels: dict[str, Channel]) -> None:
        """channels: those of the whole head; a name in it can be guessed by nobody."""
        self.socket, self.name = socket, name
        self.is_leaving = False
        self._channels = channels

    async def open_channel(self) -> Channel:
        """Have the server open one more line and return it. Raises TunnelError."""
        if self.is_leaving:
            raise TunnelError(f"{self.name} is leaving and takes no new line")
        number, channel = uuid4().hex, Channel()
        self._channels[number] = channel
        try:
            async with asyncio.timeout(DIAL_S):
                await self.socket.send_json(dial(number))
                await asyncio.shield(channel.socket)
        except (TimeoutError, WebSocketDisconnect, RuntimeError) as error:
            channel.is_done.set()
            raise TunnelError(
                f"{self.name} has not opened a line within {DIAL_S:g} s: does it hang?"
            ) from error
        finally:
            self._channels.pop(number, None)
        return channel


async def join(player: WebSocket, server: WebSocket) -> None:
    """Pass frames both ways until one end hangs up; then hang up at the other."""
    ends = ((player, server), (server, player))
    ways = [asyncio.create_task(_pass_on(*way)) for way in ends]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in ways:
            task.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (player, server):
            await hang_up(end)


async def hang_up(socket: WebSocket, code: int = GOING_AWAY, reason: str = "") -> None:
    """Close a socket, if it is open at all."""
    if socket.application_state == WebSocketState.CONNECTED:
        with suppress(WebSocketDisconnect, RuntimeError):
            await socket.close(code, reason)


async def _pass_on(source: WebSocket, target: WebSocket) -> None:
    while (message := await source.receive())["type"] == "websocket.receive":
        await target.send({**message, "type": "websocket.send"})
