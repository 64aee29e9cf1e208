"""A player: a process of its own that plays the matches its parent deals, and dies with its parent.

    python -m workers.player CHANNEL_DESCRIPTOR BEACON_DESCRIPTOR PARENT_PID

It runs agents' code, so nothing here is trusted by the parent, and nothing here is secret.
"""

import ctypes
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from time import perf_counter
from typing import Any

from arena.errors import ArenaError
from arena.games.base import GameSpec
from arena.messages import AgentOrder
from arena.policies.network_policy import Network
from workers.current_call import Beacon, Phase
from workers.errors import ChannelError
from workers.failures import one_line, reason_of
from workers.message_buffer import Stream
from workers.order_setup import Catalogs, OrderError, Setup, build
from workers.runner import Table
from workers.wire import (
    Channel,
    Command,
    Deal,
    Prepare,
    Prepared,
    Ready,
    Refused,
    Release,
    Released,
    Ring,
    commands,
)

_PR_SET_PDEATHSIG = 1


class Player:
    """Obeys its parent and plays, until the parent closes the channel."""

    def __init__(
        self,
        channel: Channel,
        beacon: Beacon,
        catalogs: Catalogs,
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._channel, self._beacon, self._catalogs = channel, beacon, catalogs
        self._clock = clock
        self._stream = Stream(channel, clock=clock)
        self._table: Table | None = None

    def run(self) -> None:
        """Play until the parent is gone."""
        gc.freeze()  # what was imported stays: no collection need look at it again
        self._channel.send(Ready())
        try:
            while True:
                self._turn()
        except ChannelError:
            return

    def _turn(self) -> None:
        """Obey what has come, play for some milliseconds, tell what happened."""
        table = self._table
        for frame in self._channel.receive(wait=table is None or not table.is_busy):
            self._obey(commands.decode(frame))
        if self._table is not None:
            self._play(self._table)
            self._table.give_out()
            self._beacon.clear()
            self._stream.flush()

    def _play(self, table: Table) -> None:
        while table.is_busy:
            table.step()
            if self._stream.is_due():
                break

    def _obey(self, command: Command) -> None:
        match command:
            case Prepare():
                self._prepare(command)
            case Deal(items) if self._table is not None:
                self._table.add(items)
            case Release(n, is_begun_too) if self._table is not None:
                indices = self._table.release(n, is_begun_too=is_begun_too)
                self._stream.tell(Released(indices))

    def _prepare(self, prepare: Prepare) -> None:
        self._table = None
        self._beacon.show(0, 0, Phase.SETUP)
        setup = self._build(prepare)
        self._beacon.clear()
        if isinstance(setup, Refused):
            self._channel.send(setup)
        else:
            self._table = Table(setup, self._beacon, self._stream, clock=self._clock)
            self._channel.send(Prepared(prepare.serial, setup.is_batched))

    def _build(self, prepare: Prepare) -> Setup | Refused:
        try:
            return build(prepare, self._catalogs)
        except (ArenaError, OrderError) as error:
            return Refused(prepare.serial, one_line(str(error)))
        except Exception as error:  # whatever the code of a plug-in raises refuses the order
            return Refused(prepare.serial, reason_of(error))


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent dies, however that happens."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # It may have died before the line above; where there is no prctl, the closed channel ends us.
    if os.getppid() != parent:
        sys.exit(0)


def limit_memory(mebibytes: int) -> None:
    """Have an allocation fail that would take this process, or one that it starts, over a limit.

    What is mapped from files, as libraries are, does not count; nor does what is shared.
    """
    n_bytes = mebibytes << 20
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        n_bytes = min(n_bytes, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (n_bytes, n_bytes))


def catalogs_of(channel: Channel, beacon: Beacon) -> Catalogs:
    """Return the catalogs of a player that asks networks and has its parent ring for them."""

    def ring(shard: int, lease: str) -> None:
        channel.send(Ring(shard, lease))

    @cache
    def networks() -> Any:
        # Imported for the first order that needs it: the client of the fast store takes 80 ms.
        return import_module("workers.networks").Networks(os.environ, ring=ring, beacon=beacon)

    def network(order: AgentOrder, spec: GameSpec) -> Network:
        opened: Network = networks().open(order, spec)
        return opened

    return Catalogs(network=network)


def main(arguments: list[str], catalogs: Callable[[Channel, Beacon], Catalogs]) -> None:
    """Play for the parent that started this process."""
    end, shared, parent = (int(argument) for argument in arguments)
    die_with_parent(parent)
    limit_memory(int(os.environ["EVALSITE_PLAYER_MB"]))
    # Ctrl-C reaches every process of a terminal: the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel, beacon = Channel(socket.socket(fileno=end)), Beacon(shared)
    Player(channel, beacon, catalogs(channel, beacon)).run()


if __name__ == "__main__":
    main(sys.argv[1:], catalogs_of)
