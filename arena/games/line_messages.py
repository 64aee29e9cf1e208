"""What a player and a game server say to each other: docs/gameservers.md is the page about it.

A frame is a JSON array of messages; the raw bytes of its observations lie behind it, and its last
message says how many. No transport is known here: workers.lines and gameservers.sdk have those.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from arena.errors import MessageError
from arena.messages import BigId, Count, Text
from arena.parameters import Value

# The game of a hello that only asks who a server is: it needs no pass, and nothing begins on it.
ANY_GAME = ""
PROTOCOL = 1
# Of a frame with its raw bytes: what a player takes from a server, and a server from a player.
MAX_FRAME = 4 << 20

Offset = Annotated[int, msgspec.Meta(ge=0, le=MAX_FRAME)]
Few = msgspec.Meta(max_length=100)
# A position or a reason in words; of a reason the beginning is shown.
Words = Annotated[str, msgspec.Meta(max_length=10_000)]


class PlayerHello(msgspec.Struct, frozen=True, tag="hello", tag_field="kind", omit_defaults=True):
    """The first message of a player: what it wants to play, and its pass."""

    protocol: int
    game: str
    token: str = ""


class Start(msgspec.Struct, frozen=True, tag="start", tag_field="kind", omit_defaults=True):
    """Begin an episode; actions: those that were played in it before."""

    episode: int
    seed: int
    opening_plies: int = 0
    parameters: dict[str, Value] = {}
    actions: list[int] = []


class Act(msgspec.Struct, frozen=True, tag="act", tag_field="kind"):
    """The action of the seat to move; step: how many were applied before it."""

    episode: int
    step: int
    action: int


class End(msgspec.Struct, frozen=True, tag="end", tag_field="kind"):
    """The player gives an episode up; nothing is answered."""

    episode: int


class ServerHello(msgspec.Struct, frozen=True, tag="hello", tag_field="kind"):
    """What a server plays, and how many episodes at once.

    load: cpu and memory as arena.machine.measure_load has them, playing (episodes now) and episodes
    (ended since its start); labels: what its operator says of its machine.
    """

    protocol: int
    name: Text
    game: Text
    rules_version: Count
    slots: Annotated[int, msgspec.Meta(ge=1, le=4096)]
    n_seats: Count
    n_actions: Count
    observation_shape: Annotated[list[Count], Few]
    observation_dtype: Text
    load: Annotated[dict[Text, Annotated[float, msgspec.Meta(ge=0, le=1e15)]], Few] = {}
    labels: Annotated[dict[Text, Text], Few] = {}


class StateMessage(msgspec.Struct, frozen=True, tag="state", tag_field="kind"):
    """A position after `step` actions; seat -1: over, with a return for each seat.

    observation: of the seat to move, as nested or flat lists; or `at`, where it begins in the raw
    bytes of the frame. text, names: the position in words, and what each legal action is called.
    """

    episode: BigId
    step: Count
    seat: Annotated[int, msgspec.Meta(ge=-1, le=255)]
    legal: list[Count] = []
    observation: Any = None
    at: Offset | None = None
    returns: list[float] = []
    text: Words = ""
    names: list[Text] = []


class ErrorMessage(msgspec.Struct, frozen=True, tag="error", tag_field="kind"):
    """Why an episode, or without one the whole line, does not go on."""

    reason: Text
    detail: Words = ""
    episode: BigId | None = None


class RawBytes(msgspec.Struct, frozen=True, tag="bytes", tag_field="kind"):
    """The last message of a frame behind which n raw bytes follow."""

    n: Offset


class _OfEpisode(msgspec.Struct, frozen=True):
    """What is left of a message that does not fit: whose it is."""

    episode: BigId


PlayerMessage = PlayerHello | Start | Act | End
ServerMessage = ServerHello | StateMessage | ErrorMessage | RawBytes

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[list[ServerMessage]] = msgspec.json.Decoder(list[ServerMessage])
_one: msgspec.json.Decoder[ServerMessage] = msgspec.json.Decoder(ServerMessage)
_apart: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


def encode_frame(messages: Sequence[PlayerMessage]) -> bytes:
    """Return the messages of a player as a frame, in one line."""
    return _encoder.encode(messages)


def read_frame(text: bytes | str) -> list[ServerMessage]:
    """Return the messages of a server. Raises MessageError naming what does not fit.

    A message of an episode that does not fit comes back as an error of that episode: others in the
    frame are of matches that have nothing to do with it.
    """
    try:
        try:
            return _decoder.decode(text)
        except msgspec.ValidationError:
            return [_read_message(raw) for raw in _apart.decode(text)]
    # Digits and brackets without end are errors of Python's own.
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise MessageError(f"no frame of a game server: {error}"[:300]) from error


def _read_message(raw: msgspec.Raw) -> ServerMessage:
    try:
        return _one.decode(raw)
    except msgspec.ValidationError as error:
        try:
            episode = msgspec.json.decode(raw, type=_OfEpisode).episode
        except msgspec.ValidationError:
            raise error from None
        return ErrorMessage("bad_message", f"{error}"[:300], episode)
