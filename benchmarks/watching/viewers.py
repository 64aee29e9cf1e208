"""Many viewers of one leaderboard in one lean process, so that their cost is not the web's.

Each viewer does what the page does (static/evalsite/board.js) but draw: it follows the sequence,
and asks for a snapshot when it missed something. A message that many receive is read once.
"""

import asyncio
import json
import os
import sys
import time
from array import array
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np
import uvloop
from websockets import ConnectionClosed, Origin
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.watching.figures import Floats, Ints

HOST = "127.0.0.1"
# Viewers that connect at the same time.
N_AT_ONCE = 20
READY_WITHIN_S = 120.0
# Distinct messages that are remembered as read.
N_REMEMBERED = 64
SNAPSHOT_REQUEST = '{"type": "snapshot"}'
NEVER = float("inf")


class Shown(NamedTuple):
    """What a message says of the board: which state, and how many outcomes are in it."""

    kind: str
    epoch: str
    sequence: int
    n_counted: int


class Seen(NamedTuple):
    """Which states S came, how many outcomes each shows, and when each viewer V received it.

    received: [S, V], in seconds, infinite for what never came.
    """

    sequence: Ints
    n_counted: Ints
    received: Floats
    n_gaps: int
    n_drops: int


class Crowd:
    """What all viewers share: what was read, and who received which state when."""

    def __init__(self, n_viewers: int) -> None:
        self.n_viewers = n_viewers
        self.received: dict[tuple[str, int], array[float]] = {}
        self.n_counted: dict[tuple[str, int], int] = {}
        self.n_gaps = self.n_drops = self.n_arrived = 0
        self.is_ready = asyncio.Event()
        self.is_over = False
        self._read: dict[bytes, Shown | None] = {}

    def read_message(self, payload: bytes) -> Shown | None:
        """Return what a message shows, None for one that is not of the board's rows."""
        if payload not in self._read:
            # All get the same few messages at about the same time: older ones never come again.
            if len(self._read) >= N_REMEMBERED:
                self._read.clear()
            message, state = json.loads(payload), None
            status = message.get("status")
            if message["type"] in {"snapshot", "delta"} and isinstance(status, dict):
                n_counted = int(status["n_outcomes"].replace(",", ""))
                state = Shown(message["type"], message["epoch"], message["sequence"], n_counted)
            self._read[payload] = state
        return self._read[payload]

    def note_state(self, viewer: int, state: Shown, at: float) -> None:
        """Note that a viewer has a state from now on."""
        key = (state.epoch, state.sequence)
        times = self.received.get(key)
        if times is None:
            times = self.received[key] = array("d", [NEVER]) * self.n_viewers
            self.n_counted[key] = state.n_counted
        # A snapshot may bring a state that a delta brought before.
        times[viewer] = min(times[viewer], at)

    async def watch(self, viewer: int, socket: ClientConnection) -> None:
        """Follow the board with one socket until it is closed."""
        state: tuple[str, int] | None = None
        try:
            while True:
                message = self.read_message(await socket.recv(decode=False))
                at = time.time()
                if message is None:
                    continue
                new = (message.epoch, message.sequence)
                if message.kind == "snapshot" and state is None:
                    self.n_arrived += 1
                    if self.n_arrived == self.n_viewers:
                        self.is_ready.set()
                elif message.kind == "delta" and not (state and new <= (state[0], state[1] + 1)):
                    self.n_gaps += 1
                    await socket.send(SNAPSHOT_REQUEST)
                    continue
                state = new
                self.note_state(viewer, message, at)
        except ConnectionClosed:
            self.n_drops += not self.is_over

    def sum_up(self) -> Seen:
        return Seen(
            np.array([sequence for _, sequence in self.received], np.int64),
            np.array(list(self.n_counted.values()), np.int64),
            np.array(list(self.received.values())).reshape(-1, self.n_viewers),
            self.n_gaps,
            self.n_drops,
        )


def run_viewers(port: int, path: str, n_viewers: int, orders: Connection) -> None:
    """Let the viewers watch in this process until something is ordered; return what they saw."""
    os.setsid()  # Ctrl-C reaches only the benchmark, which ends them
    uvloop.run(watch_board(port, path, n_viewers, orders))


async def watch_board(port: int, path: str, n_viewers: int, orders: Connection) -> None:
    crowd, loop = Crowd(n_viewers), asyncio.get_running_loop()
    origin, url = Origin(f"http://{HOST}:{port}"), f"ws://{HOST}:{port}{path}"
    # A fault of one viewer ends the process: figures without it would be wrong.
    async with asyncio.TaskGroup() as group:
        watching = []
        for begin in range(0, n_viewers, N_AT_ONCE):
            numbers = range(begin, min(begin + N_AT_ONCE, n_viewers))
            # A thousand at once would measure the listen queue, not the board.
            connecting = (connect(url, origin=origin, ping_interval=None) for _ in numbers)
            sockets = await asyncio.gather(*connecting)
            for viewer, socket in zip(numbers, sockets, strict=True):
                watching.append(group.create_task(crowd.watch(viewer, socket)))
        try:
            async with asyncio.timeout(READY_WITHIN_S):
                await crowd.is_ready.wait()
        except TimeoutError:
            sys.exit(f"only {crowd.n_arrived} of {n_viewers} viewers got a snapshot")
        orders.send("ready")
        await loop.run_in_executor(None, orders.recv)
        crowd.is_over = True
        orders.send(crowd.sum_up())
        for task in watching:
            task.cancel()
