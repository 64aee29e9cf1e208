"""A player: a process that plays the matches its parent assigns, and dies with its parent.

    python -m workers.player CHANNEL_DESCRIPTOR MEMORY_DESCRIPTOR PARENT_PID

It runs agents' code, so nothing here is trusted by the parent, and nothing here is secret.
"""

import ctypes
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from functools import cache
from time import perf_counter

from arena.errors import ArenaError
from arena.games.base import Game, GameSpec
from arena.games.served import Line, ServedGame
from arena.messages import AgentOrder, ServerLink
from arena.policies.line_policy import AgentLine, LinePolicy
from arena.policies.network_policy import Network
from workers.current_call import CallMemory, Phase
from workers.errors import ChannelError, OrderError
from workers.failures import describe_error, one_line
from workers.message_buffer import MessageBuffer
from workers.order_setup import Catalogs, Setup, build_setup
from workers.recorder import Recorder
from workers.runner import MatchRunner
from workers.wire import (
    Assign,
    Channel,
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
        call_memory: CallMemory,
        catalogs: Catalogs,
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._channel, self._call_memory, self._catalogs = channel, call_memory, catalogs
        self._clock = clock
        self._buffer = MessageBuffer(channel, clock=clock)
        self._runner: MatchRunner | None = None
        self._setup: Setup | None = None

    def play_until_closed(self) -> None:
        """Play until the parent is gone."""
        gc.freeze()  # what was imported stays: no collection need look at it again
        self._channel.send(Ready())
        try:
            while True:
                self._take_turn()
        except ChannelError:
            return

    def _take_turn(self) -> None:
        """Obey what has come, play for some milliseconds, tell what happened."""
        runner = self._runner
        for frame in self._channel.receive(wait=runner is None or not runner.is_busy):
            match commands.decode(frame):
                case Prepare() as prepare:
                    self._prepare_order(prepare)
                case Assign(assignments) if self._runner is not None:
                    self._runner.add_matches(assignments)
                case Release(n, is_begun_too) if self._runner is not None:
                    indices = self._runner.release_matches(n, is_begun_too=is_begun_too)
                    self._buffer.send_now(Released(indices))
        runner = self._runner  # a command may have brought another order
        if runner is not None:
            while runner.is_busy:
                runner.step()
                if self._buffer.is_due():
                    break
            runner.report_stored()
            self._call_memory.clear_call()
            self._buffer.flush()

    def _prepare_order(self, prepare: Prepare) -> None:
        self._runner = None
        if self._setup is not None:
            self._setup.end_programs()
        # Shown as a call: building runs the code of plug-ins, which may hang or die.
        self._call_memory.show_call(0, 0, Phase.SETUP)
        answer: Prepared | Refused
        try:
            setup = build_setup(prepare, self._catalogs)
        except (ArenaError, OrderError) as error:
            answer = Refused(prepare.serial, one_line(str(error)))
        except Exception as error:  # whatever the code of a plug-in raises refuses the order
            answer = Refused(prepare.serial, describe_error(error))
        else:
            self._setup = setup
            self._runner = MatchRunner(setup, self._call_memory, self._buffer, clock=self._clock)
            answer = Prepared(prepare.serial, setup.is_batched, setup.game_command)
        self._call_memory.clear_call()
        self._channel.send(answer)


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


def catalogs_of(channel: Channel, call_memory: CallMemory) -> Catalogs:
    """Return the catalogs of a player that asks networks and has its parent ring for them."""

    def ring(shard: int, lease: str) -> None:
        channel.send(Ring(shard, lease))

    @cache
    def connect_networks() -> Callable[[AgentOrder, GameSpec], Network]:
        # For the first order that needs it: the client of the fast store takes 80 ms to import.
        from workers.networks import Networks  # noqa: PLC0415

        return Networks(os.environ, ring=ring, call_memory=call_memory).open_network

    def open_network(order: AgentOrder, spec: GameSpec) -> Network:
        return connect_networks()(order, spec)

    def open_recorder(prepare: Prepare, game: Game) -> Recorder:
        # Only for an order whose trajectories are kept: pyarrow takes each player some 50 MB.
        from workers.trajectory_recorder import open_recorder  # noqa: PLC0415

        return open_recorder(prepare, game)

    @cache
    def make_lines() -> Callable[[ServedGame, Sequence[ServerLink]], Sequence[Line]]:
        # Only for a game that is played elsewhere: the client of WebSockets takes 60 ms to import.
        from workers.lines.opening import Lines  # noqa: PLC0415

        return Lines(os.environ, show_waiting=call_memory.show_waiting).open_lines

    def open_lines(game: ServedGame, servers: Sequence[ServerLink]) -> Sequence[Line]:
        return make_lines()(game, servers)

    def open_agent_line(policy: LinePolicy) -> AgentLine:
        # Only for an order of such agents.
        from workers.programs.opening import open_line  # noqa: PLC0415

        return open_line(policy, os.environ)

    return Catalogs(
        network=open_network, agent_line=open_agent_line, recorder=open_recorder, lines=open_lines
    )


def main(arguments: list[str], catalogs: Callable[[Channel, CallMemory], Catalogs]) -> None:
    """Play for the parent that started this process."""
    end, shared, parent = (int(argument) for argument in arguments)
    die_with_parent(parent)
    limit_memory(int(os.environ["EVALSITE_PLAYER_MB"]))
    # Ctrl-C reaches every process of a terminal: the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    channel, call_memory = Channel(socket.socket(fileno=end)), CallMemory(shared)
    Player(channel, call_memory, catalogs(channel, call_memory)).play_until_closed()


if __name__ == "__main__":
    main(sys.argv[1:], catalogs_of)
