"""Messages between a parent and its players: length-prefixed JSON, never pickle.

A player runs agents' code, so the parent believes only what has the declared form.
"""

import socket
from struct import Struct as Layout
from typing import Annotated

import msgspec

from arena.messages import (
    AgentOrder,
    BigId,
    Count,
    Detail,
    Ending,
    FaultRates,
    Link,
    Reason,
    ServerLink,
)
from arena.parameters import Value
from workers.errors import ChannelError

SEND_LIMIT_S = 5.0
MAX_FRAME = 1 << 26
MAX_SHARDS = 1024

_HEADER = Layout(">I")
_CHUNK = 1 << 18


class Prepare(msgspec.Struct, frozen=True, array_like=True, tag="prepare"):
    """How to build the game and the agents of an order; `serial` is echoed in the answer."""

    serial: int
    game: str
    rules_version: int
    game_parameters: dict[str, Value]
    opening_plies: int
    agents: list[AgentOrder]
    faults: FaultRates | None
    trajectories: Link = ""
    game_version: str = ""
    servers: list[ServerLink] = []


class Assignment(msgspec.Struct, frozen=True, array_like=True):
    """One match to play, or to go on with after `actions`; trajectories are told by `match`.

    server: which of the order's game servers plays it.
    """

    index: int
    attempt: int
    game_seed: int
    seats: list[int]
    actions: list[int]
    match: BigId = 0
    server: int = 0


class Assign(msgspec.Struct, frozen=True, array_like=True, tag="assign"):
    """Matches to play beside those that the player has."""

    assignments: list[Assignment]


class Release(msgspec.Struct, frozen=True, array_like=True, tag="release"):
    """Give back up to n matches: those not begun first, and begun ones only if asked."""

    n: int
    is_begun_too: bool


class Ready(msgspec.Struct, frozen=True, array_like=True, tag="ready"):
    """The player has started."""


class Prepared(msgspec.Struct, frozen=True, array_like=True, tag="prepared"):
    """Game and agents are built; is_batched: some agent decides rows together.

    game_command: of the child process that plays the game, which may go on after the order.
    """

    serial: int
    is_batched: bool
    game_command: list[str] = []


class Refused(msgspec.Struct, frozen=True, array_like=True, tag="refused"):
    """Game or agents cannot be built."""

    serial: int
    detail: Detail


class Begun(msgspec.Struct, frozen=True, array_like=True, tag="begun"):
    """These matches have begun, before any of them has moved."""

    indices: list[Count]


class Ring(msgspec.Struct, frozen=True, array_like=True, tag="ring"):
    """Requests wait in a shard: have somebody come with this lease to answer them."""

    shard: Annotated[int, msgspec.Meta(ge=0, lt=MAX_SHARDS)]
    lease: Annotated[str, msgspec.Meta(max_length=64, pattern="^[0-9A-Za-z:_-]*$")]


class EndedMatch(msgspec.Struct, frozen=True, array_like=True):
    """How a match ended; `share_ms` is its part of the player's time."""

    index: Count
    ending: Ending
    ranks: list[Count]
    reason: Reason
    seat: Annotated[int, msgspec.Meta(ge=-1, le=255)]
    detail: Detail
    share_ms: Annotated[float, msgspec.Meta(ge=0, le=1e9)]
    trajectory: Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")] = ""
    returns: list[float] = []


class Progress(msgspec.Struct, frozen=True, array_like=True, tag="progress"):
    """What happened since the last such message.

    acted: match, action, note, match, action, note ...; a note is one of arena.move_notes.
    """

    acted: list[BigId]
    ended: list[EndedMatch]


class Released(msgspec.Struct, frozen=True, array_like=True, tag="released"):
    """Matches given back."""

    indices: list[Count]


Command = Prepare | Assign | Release
Message = Ready | Prepared | Refused | Begun | Ring | Progress | Released

commands: msgspec.json.Decoder[Command] = msgspec.json.Decoder(Command)
messages: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Message)


class Channel:
    """One end of a socket pair that carries frames."""

    def __init__(self, end: socket.socket) -> None:
        """Take over the socket."""
        self._socket = end
        self._received = bytearray()

    def fileno(self) -> int:
        """Return the descriptor to wait for."""
        return self._socket.fileno()

    def send(self, message: Command | Message, *, limit_s: float | None = None) -> None:
        """Send one message. Raises ChannelError when the other end is gone or does not read."""
        body = msgspec.json.encode(message)
        try:
            self._socket.settimeout(limit_s)
            self._socket.sendall(_HEADER.pack(len(body)) + body)
        except OSError as error:
            raise ChannelError(f"message not sent: {error}") from error

    def receive(self, *, wait: bool) -> list[bytes]:
        """Return the frames that are complete, none if nothing has come.

        wait: block until something comes. Raises ChannelError when the other end is gone.
        """
        try:
            self._socket.settimeout(None if wait else 0)
            chunk = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ChannelError(f"nothing received: {error}") from error
        if not chunk:
            raise ChannelError("the other end is closed")
        self._received += chunk
        return self._split_frames()

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _split_frames(self) -> list[bytes]:
        frames, received, start = [], self._received, 0
        while len(received) - start >= _HEADER.size:
            (length,) = _HEADER.unpack_from(received, start)
            if length > MAX_FRAME:
                raise ChannelError(f"frame of {length} bytes, at most {MAX_FRAME} are taken")
            end = start + _HEADER.size + length
            if end > len(received):
                break
            frames.append(bytes(received[start + _HEADER.size : end]))
            start = end
        del received[:start]
        return frames
