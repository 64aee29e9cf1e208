"""Chunks as bytes: MessagePack, in which arrays are raw bytes, or JSON with lists. Never pickle.

Both have the fields of a Chunk and `"v": 1`. In MessagePack an array is little-endian bytes, whose
type and shape follow from its name and the game; in JSON it is a list, observations a list of one
list a step, and null stands for a log-probability that is not known.
"""

import re
from collections.abc import Mapping
from math import prod
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from arena.errors import ChunkError
from arena.experience.checking import MOST_STEPS, refuse_first
from arena.experience.chunks import Chunk
from arena.games.base import GameSpec

Form = Literal["msgpack", "json"]
VERSION: Final = 1
HIGHEST_VERSION: Final = 2**31 - 1
"""Of a policy."""

_Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]


class Column(NamedTuple):
    """An array of a chunk: its dtype, how many of it a step has, and its type in JSON."""

    dtype: str
    is_row: bool
    listed: Any


_FLOATS = Column("<f4", False, list[float])
_ROWS = Column("<f4", True, list[list[float]])
_FLAGS = Column("?", False, list[bool])
COLUMNS: Final[Mapping[str, Column]] = {
    "episodes": Column("<i8", False, list[_Int64]),
    "steps": Column("<i4", False, list[_Int32]),
    "observations": _ROWS,
    "next_observations": _ROWS,
    "actions": Column("<i4", False, list[_Int32]),
    "rewards": _FLOATS,
    "terminated": _FLAGS,
    "truncated": _FLAGS,
    "log_probs": Column("<f4", False, list[float | None]),
}


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    v: Literal[1]
    game: Annotated[str, msgspec.Meta(max_length=200)]
    chunk_id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    policy_version: Annotated[int, msgspec.Meta(ge=-(2**31), le=HIGHEST_VERSION)]


class _Game(msgspec.Struct):
    game: Annotated[str, msgspec.Meta(max_length=200)]


_HEADER: Final = ("game", "chunk_id", "policy_version")
_Packed = msgspec.defstruct("_Packed", [(name, bytes) for name in COLUMNS], bases=(_Header,))
_Listed = msgspec.defstruct(
    "_Listed", [(name, column.listed) for name, column in COLUMNS.items()], bases=(_Header,)
)
_GAMES: Final[Mapping[Form, Any]] = {
    "msgpack": msgspec.msgpack.Decoder(_Game),
    "json": msgspec.json.Decoder(_Game),
}
_CHUNKS: Final[Mapping[Form, Any]] = {
    "msgpack": msgspec.msgpack.Decoder(_Packed),
    "json": msgspec.json.Decoder(_Listed),
}
# Where msgspec found the fault: " - at `$.actions[3]`".
_PLACE = re.compile(r" - at `\$\.(\w+)(?:\[(\d+)\])?.*`$")


def read_game(content: bytes, *, form: Form = "msgpack") -> str:
    """Return the game that a chunk names, which decides how the rest is read. Raises ChunkError."""
    return str(_decode(_GAMES[form], content).game)


def read_chunk(content: bytes, *, spec: GameSpec, form: Form = "msgpack") -> Chunk:
    """Return the chunk, its arrays of the right types and lengths. Raises ChunkError.

    Whether the steps can be is for `checking.check_chunk`.
    """
    message = _decode(_CHUNKS[form], content)
    if message.game != spec.id:
        raise ChunkError("game", f"is {message.game!r}, this is {spec.id}")
    if spec.n_seats != 1:
        raise ChunkError("game", f"{spec.id} has {spec.n_seats} seats: games of one seat only")
    n_features = prod(spec.observation_shape)
    build = _decode_array if form == "msgpack" else _build_array
    # The actions say how many steps there are.
    n_steps = len(message.actions) // (4 if form == "msgpack" else 1)
    if n_steps > MOST_STEPS:
        # Before anything is built of them: the server has other callers.
        raise ChunkError("actions", f"has {n_steps} steps: must be 1 to {MOST_STEPS}")
    arrays = {
        name: build(name, getattr(message, name), (n_steps, n_features)[: 1 + column.is_row])
        for name, column in COLUMNS.items()
    }
    return Chunk(message.game, message.chunk_id, message.policy_version, **arrays)


def write_chunk(chunk: Chunk, *, form: Form = "msgpack") -> bytes:
    """Return the bytes of a chunk, the same for the same content."""
    header = {"v": VERSION} | {name: getattr(chunk, name) for name in _HEADER}
    arrays = {
        name: np.ascontiguousarray(getattr(chunk, name), column.dtype)
        for name, column in COLUMNS.items()
    }
    if form == "msgpack":
        return msgspec.msgpack.encode(header | {name: arrays[name].tobytes() for name in arrays})
    # msgspec writes NaN as null.
    return msgspec.json.encode(header | {name: arrays[name].tolist() for name in arrays})


def _decode(decoder: Any, content: bytes) -> Any:
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = str(error)[:300]
        place = _PLACE.search(message)
        if place is None:
            raise ChunkError("", f"it is no chunk of version {VERSION}: {message}") from error
        index = int(place[2]) if place[2] else None
        raise ChunkError(place[1], f"is refused: {message}", index=index) from error


def _decode_array(name: str, content: bytes, shape: tuple[int, ...]) -> NDArray[Any]:
    dtype = np.dtype(COLUMNS[name].dtype)
    n_bytes = prod(shape) * dtype.itemsize
    if len(content) != n_bytes:
        raise ChunkError(
            name, f"has {len(content)} bytes, {dtype.name} of shape {shape} are {n_bytes}"
        )
    if dtype == np.bool_:
        flags = np.frombuffer(content, np.uint8)
        refuse_first(name, flags > 1, flags, "must be 0 or 1")
    return np.frombuffer(content, dtype).reshape(shape)


def _build_array(name: str, values: list[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if len(values) != shape[0]:
        raise ChunkError(name, f"has {len(values)} values, not {shape[0]}")
    for index, row in enumerate(values if COLUMNS[name].is_row else ()):
        if len(row) != shape[1]:
            raise ChunkError(name, f"has {len(row)} values, not {shape[1]}", index=index)
    dtype = np.dtype(COLUMNS[name].dtype)
    if dtype.kind != "f":
        return np.array(values, dtype)
    wide = np.array(values, np.float64).reshape(shape)
    with np.errstate(over="ignore"):
        narrow = wide.astype(dtype)
    # What is too large is named as it was sent, and not as the infinity that it becomes.
    refuse_first(name, np.isinf(narrow), wide, "must fit into a float32")
    return narrow
