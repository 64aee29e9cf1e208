"""Many viewers of one leaderboard in one lean process, so that their cost is not the web's.

python -m benchmarks.watching.viewers PORT PATH N FILE

Each viewer does what the page does (static/evalsite/board.js) but draw: it follows the sequence,
asks for a snapshot when it missed something, answers pings, takes compressed messages when the
server offers them. A message that many receive is read once. The process says "ready" when all
viewers have their first snapshot; it ends, and writes what it saw to FILE, when its input ends.
"""

import asyncio
import base64
import json
import os
import struct
import sys
import time
import zlib
from array import array
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import uvloop

HOST = "127.0.0.1"
# Viewers that connect at the same time.
N_AT_ONCE = 20
READY_WITHIN_S = 120.0
# Distinct messages that are remembered as read.
N_REMEMBERED = 64
SNAPSHOT_REQUEST = b'{"type": "snapshot"}'
NEVER = float("inf")

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
_FIRST_CODE = 0x0F
_COMPRESSED = 0x40
_SHORT, _TWO_BYTES, _EIGHT_BYTES = 125, 126, 127
_FLUSHED = b"\x00\x00\xff\xff"


class Shown(NamedTuple):
    """What a message says of the board: which state, and how many outcomes are in it."""

    kind: str
    epoch: str
    sequence: int
    n_counted: int


class Crowd:
    """What all viewers share: what was read, and who received which state when."""

    def __init__(self, n_viewers: int) -> None:
        self.n_viewers = n_viewers
        self.received: dict[tuple[str, int], array[float]] = {}
        self.n_counted: dict[tuple[str, int], int] = {}
        self.n_bytes = self.n_messages = self.n_gaps = self.n_drops = 0
        self.first_snapshots = 0
        self.is_ready = asyncio.Event()
        self.is_over = False
        self._read: dict[bytes, Shown | None] = {}

    def read_message(self, payload: bytes) -> Shown | None:
        """Return what a message shows, None for one that is not of the board's rows."""
        if payload not in self._read:
            # All get the same few messages at about the same time: older ones never come again.
            if len(self._read) >= N_REMEMBERED:
                self._read.clear()
            message, shown = json.loads(payload), None
            status = message.get("status")
            if message["type"] in {"snapshot", "delta"} and isinstance(status, dict):
                n_counted = int(status["n_outcomes"].replace(",", ""))
                kind, epoch, sequence = (message[name] for name in ("type", "epoch", "sequence"))
                shown = Shown(kind, epoch, sequence, n_counted)
            self._read[payload] = shown
        return self._read[payload]

    def note_state(self, viewer: int, shown: Shown, at: float) -> None:
        """Note that a viewer has a state from now on."""
        key = (shown.epoch, shown.sequence)
        times = self.received.get(key)
        if times is None:
            times = self.received[key] = array("d", [NEVER]) * self.n_viewers
            self.n_counted[key] = shown.n_counted
        # A snapshot may bring a state that a delta brought before.
        times[viewer] = min(times[viewer], at)

    def note_arrival(self) -> None:
        """Note that one more viewer has its first snapshot."""
        self.first_snapshots += 1
        if self.first_snapshots == self.n_viewers:
            self.is_ready.set()

    def write_file(self, path: Path) -> None:
        """Write the states in order, who received them when, and the counts."""
        keys = list(self.received)
        np.savez(
            path,
            sequence=np.array([sequence for _, sequence in keys], np.int64),
            n_counted=np.array([self.n_counted[key] for key in keys], np.int64),
            received=np.array([self.received[key] for key in keys]).reshape(-1, self.n_viewers),
            n_bytes=self.n_bytes,
            n_messages=self.n_messages,
            n_gaps=self.n_gaps,
            n_drops=self.n_drops,
        )


class Viewer(asyncio.Protocol):
    """One socket."""

    def __init__(self, number: int, crowd: Crowd, address: str, path: str) -> None:
        self._number, self._crowd = number, crowd
        self._address, self._path = address, path
        self._buffer = bytearray()
        self._is_open = False
        self._inflater: zlib._Decompress | None = None
        self._shown: tuple[str, int] | None = None
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the socket, with the offer that browsers make."""
        # uvloop's transports have all methods but are not of the class.
        self._transport = cast(asyncio.WriteTransport, transport)
        lines = (
            f"GET {self._path} HTTP/1.1",
            f"Host: {self._address}",
            f"Origin: http://{self._address}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        )
        self._transport.write("\r\n".join((*lines, "", "")).encode())

    def connection_lost(self, _: Exception | None) -> None:
        """Count a viewer that the server has left."""
        self._crowd.n_drops += not self._crowd.is_over

    def data_received(self, data: bytes) -> None:
        """Take what has arrived."""
        self._buffer += data
        self._crowd.n_bytes += len(data)
        if not self._is_open and not self._open_socket():
            return
        for first, payload in self._cut_frames():
            self._take_frame(first, payload)

    def _open_socket(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        if not head.startswith(b"http/1.1 101"):
            raise ConnectionError(f"no socket for viewer {self._number}: {head[:60]!r}")
        if b"permessage-deflate" in head:
            self._inflater = zlib.decompressobj(-15)
        del self._buffer[: end + 4]
        self._is_open = True
        return True

    def _cut_frames(self) -> Iterator[tuple[int, bytes]]:
        """Yield first byte and payload of the frames that are complete; servers do not mask."""
        buffer = self._buffer
        while len(buffer) > 1:
            start, size = 2, buffer[1]
            if size > _SHORT:
                start, form = (4, "!H") if size == _TWO_BYTES else (10, "!Q")
                if len(buffer) < start:
                    return
                (size,) = struct.unpack_from(form, buffer, 2)
            if len(buffer) < start + size:
                return
            frame = buffer[0], bytes(buffer[start : start + size])
            del buffer[: start + size]
            yield frame

    def _take_frame(self, first: int, payload: bytes) -> None:
        code = first & _FIRST_CODE
        if code == _TEXT:
            if first & _COMPRESSED and self._inflater:
                payload = self._inflater.decompress(payload + _FLUSHED)
            self._show_message(payload)
        elif code == _PING:
            self._send_frame(_PONG, payload)
        elif code == _CLOSE and self._transport:
            self._transport.close()

    def _show_message(self, payload: bytes) -> None:
        crowd = self._crowd
        crowd.n_messages += 1
        message = crowd.read_message(payload)
        if message is None:
            return
        state = (message.epoch, message.sequence)
        is_next = self._shown and state <= (self._shown[0], self._shown[1] + 1)
        if message.kind == "snapshot" and self._shown is None:
            crowd.note_arrival()
        elif message.kind == "delta" and not is_next:
            crowd.n_gaps += 1
            self._send_frame(_TEXT, SNAPSHOT_REQUEST)
            return
        self._shown = state
        crowd.note_state(self._number, message, time.time())

    def _send_frame(self, code: int, payload: bytes) -> None:
        """Send a frame masked with zeros: that leaves the payload as it is."""
        assert self._transport
        self._transport.write(bytes((0x80 | code, 0x80 | len(payload), 0, 0, 0, 0)) + payload)


def end_process(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Let a fault in a callback end the process: figures without some viewers would be wrong."""
    print(f"viewers: {context.get('exception') or context['message']}", file=sys.stderr, flush=True)
    os._exit(1)


async def watch_board(port: int, path: str, n_viewers: int, file: Path) -> None:
    """Let the viewers come, say so, and watch until the input ends."""
    crowd = Crowd(n_viewers)
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(end_process)
    address = f"{HOST}:{port}"
    for begin in range(0, n_viewers, N_AT_ONCE):
        numbers = range(begin, min(begin + N_AT_ONCE, n_viewers))
        made = [partial(Viewer, number, crowd, address, path) for number in numbers]
        # A thousand at once would measure the listen queue, not the board.
        connecting = (loop.create_connection(viewer, HOST, port) for viewer in made)
        await asyncio.gather(*connecting)
    try:
        async with asyncio.timeout(READY_WITHIN_S):
            await crowd.is_ready.wait()
    except TimeoutError:
        sys.exit(f"only {crowd.first_snapshots} of {n_viewers} viewers got a snapshot")
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    crowd.is_over = True
    crowd.write_file(file)


if __name__ == "__main__":
    uvloop.run(watch_board(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])))
