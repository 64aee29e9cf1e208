"""The connections of servers that dial in, and of players to them."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from arena.errors import MessageError
from gameservers.head.access import AccessError, Door, find_pass
from gameservers.head.servers import KnownServer, ServerBoard, State, dialled_key
from gameservers.head.serving_messages import (
    Leaving,
    ServingHello,
    ServingMessage,
    accepted,
    read_serving,
    refused,
)
from gameservers.head.tunnels import Channel, ServingLine, TunnelError, hang_up, join

log = logging.getLogger(__name__)

FIRST_S = 5.0
# A server that repeats its hello is silent after so long; of others the socket's pings tell.
SILENCE_S = 10.0
# Whoever was heard so lately lives, and its name is not free.
LIVES_S = 5.0
ANY_SERVER = "serve:"
POLICY_VIOLATION = 1008


class ServingLines:
    """Takes the servers that dial in, and joins players to them."""

    def __init__(
        self,
        board: ServerBoard,
        *,
        play_address: str,
        door: Door,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """play_address: where players dial us, ws://...; clock: seconds since 1970."""
        self._board, self._play_address, self._door = board, play_address, door
        self._clock = clock
        self._lines: dict[str, ServingLine] = {}
        self._channels: dict[str, Channel] = {}

    async def serve(self, socket: WebSocket) -> None:
        """Keep the standing line of a server for as long as it lives."""
        await socket.accept()
        line: ServingLine | None = None
        why = "its line to the head broke"
        try:
            async for message in _hear_messages(socket):
                if isinstance(message, Leaving):
                    self._note_leaving(line)
                elif line is None:
                    line = await self._admit_server(socket, message)
                else:
                    self._note_sign_of_life(line, message)
        except (AccessError, MessageError) as error:
            why = str(error)
            reason = "refused" if isinstance(error, AccessError) else "bad_message"
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_json(refused(reason, why))
            await hang_up(socket, POLICY_VIOLATION)
        finally:
            self._forget_line(line, why)

    async def serve_channel(self, socket: WebSocket) -> None:
        """Take the line that a server opens for one player."""
        # Taken before anything is waited for: of two that race for it the second finds none.
        channel = self._channels.pop(socket.path_params["channel"], None)
        if channel is None:
            await _deny_handshake(socket, 404, "nobody waits for this line any more")
            return
        await socket.accept()
        channel.socket.set_result(socket)
        await channel.is_done.wait()

    async def play(self, socket: WebSocket) -> None:
        """Join a player to a server that dialled in."""
        name = socket.path_params["server"]
        try:
            self._door.require_pass(socket, find_pass(socket), name, now=self._clock())
        except AccessError as error:
            await _deny_handshake(socket, 403, str(error))
            return
        line = self._lines.get(name)
        if line is None:
            await _deny_handshake(
                socket, 404, f"no server {name:.100} has dialled in here: see /discovered"
            )
            return
        try:
            channel = await line.open_channel()
        except TunnelError as error:
            await _deny_handshake(socket, 503, str(error))
            return
        try:
            await socket.accept()
            await join(socket, channel.socket.result())
        finally:
            channel.is_done.set()

    async def _admit_server(self, socket: WebSocket, hello: ServingHello) -> ServingLine:
        """Return the line of a server that may serve. Raises AccessError."""
        subjects = (f"{ANY_SERVER}{hello.name}", ANY_SERVER)
        now = self._clock()
        self._door.require_pass(socket, hello.token, *subjects, now=now)
        server = self._board.find(dialled_key(hello.name))
        before = self._lines.get(hello.name)
        if before is not None and server is not None and now - server.seen_at < LIVES_S:
            raise AccessError(f"a server named {hello.name} serves here already: give each its own")
        address = f"{self._play_address}/play/{hello.name}"
        server = self._board.note_dialled_in(hello, address, now=now)
        if server.state != State.HEALTHY:
            raise AccessError(server.reason)
        line = self._lines[hello.name] = ServingLine(socket, hello.name, self._channels)
        if before is not None:
            await hang_up(before.socket)
        await socket.send_json(accepted())
        log.info("server %s of %s dialled in", hello.name, hello.game)
        return line

    def _note_sign_of_life(self, line: ServingLine, hello: ServingHello) -> None:
        if hello.name != line.name:
            raise MessageError(f"{line.name} calls itself {hello.name} now: dial in anew")
        server = self._find_own_row(line)
        if server is not None and not line.is_leaving:
            self._board.note_hello(server, hello, now=self._clock())

    def _note_leaving(self, line: ServingLine | None) -> None:
        server = self._find_own_row(line)
        if line is not None and server is not None:
            line.is_leaving = True
            server.become(State.LEAVING, "it stops and takes no new line", now=self._clock())

    def _forget_line(self, line: ServingLine | None, why: str) -> None:
        server = self._find_own_row(line)
        if line is not None and server is not None:
            del self._lines[line.name]
            server.become(State.GONE, "it stopped" if line.is_leaving else why, now=self._clock())

    def _find_own_row(self, line: ServingLine | None) -> KnownServer | None:
        """Return what is known of a line's server, None where another line has its name now."""
        if line is None or self._lines.get(line.name) is not line:
            return None
        return self._board.find(dialled_key(line.name))


async def _hear_messages(socket: WebSocket) -> AsyncIterator[ServingMessage]:
    """Yield what a server says until it hangs up or is silent. Raises MessageError."""
    n_heard = 0
    while True:
        # One that says its hello once only may be silent: uvicorn pings it.
        limit_s = FIRST_S if n_heard == 0 else SILENCE_S if n_heard > 1 else None
        try:
            async with asyncio.timeout(limit_s):
                text = await socket.receive_text()
        except TimeoutError as error:
            raise MessageError(f"silent for {limit_s:g} s") from error
        except WebSocketDisconnect:
            return
        except KeyError as error:
            raise MessageError("bytes, where a text message is needed") from error
        for message in read_serving(text):
            n_heard += 1
            yield message


async def _deny_handshake(socket: WebSocket, status: int, reason: str) -> None:
    """Refuse the handshake with a line of text."""
    await socket.send_denial_response(PlainTextResponse(f"{reason}\n", status))
