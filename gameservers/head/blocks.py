"""Blocks of questions as callers send them, and the decisions that they get.

Binary: a JSON object on one line, then the arrays as they lie in memory, little-endian, one behind
the other. JSON: everything in one object, for beginners; it costs thousands of times more to read.
"""

from dataclasses import dataclass
from math import prod
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from arena.messages import BigId
from arena.policies.network_policy import FloatBatch, MaskBatch
from arena.seeding import SEED_BITS
from gameservers.errors import GameServerError

BINARY = "application/octet-stream"
MAX_BYTES = 16 << 20
MAX_ROWS = 4_096
MAX_HEADER = 65_536

Seed = BigId  # below 2 to the SEED_BITS


class EvaluateError(GameServerError):
    """A request that is refused; `status` is that of HTTP."""

    def __init__(self, message: str, status: int = 400) -> None:
        self.status = status
        super().__init__(message)


@dataclass(frozen=True)
class Form:
    """What the rows of an agent look like; n_states: floats of recurrent state per row."""

    observation_shape: tuple[int, ...]
    n_actions: int
    n_states: int = 0


@dataclass(frozen=True)
class Block:
    """Rows to decide: float32 [B, *shape], bool [B, A], uint64 [B] or None, float32 [B, S]."""

    observations: FloatBatch
    masks: MaskBatch
    seeds: NDArray[np.uint64] | None
    states: FloatBatch


class BinaryHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line before the arrays: observations float32, masks uint8, seeds uint64, states float32.

    has_seeds, has_states: those two may be left out.
    """

    rows: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS)]
    agent: str = ""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    has_seeds: bool = False
    has_states: bool = False


class JsonRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request of a beginner; legal: the numbers of the legal actions of each row."""

    observations: list[Any]
    legal: Annotated[list[list[int]], msgspec.Meta(min_length=1, max_length=MAX_ROWS)]
    agent: str = ""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=100)] | None = None
    seeds: list[Seed] | None = None
    states: list[list[float]] | None = None


Request = BinaryHeader | JsonRequest


def read_request(body: bytes, *, is_binary: bool) -> tuple[Request, memoryview]:
    """Return the request and the arrays behind it, none of JSON. Raises EvaluateError."""
    if not is_binary:
        return decode_json(body, JsonRequest), memoryview(b"")
    end = body.find(b"\n", 0, MAX_HEADER)
    if end < 0:
        raise EvaluateError("no JSON object and newline before the arrays: see docs/gameservers.md")
    return decode_json(body[:end], BinaryHeader), memoryview(body)[end + 1 :]


def read_block(request: Request, arrays: memoryview, form: Form) -> Block:
    """Return the rows of a request to an agent of this form. Raises EvaluateError."""
    if isinstance(request, BinaryHeader):
        block = _read_binary(request, arrays, form)
    else:
        block = _read_json(request, form)
    if not np.isfinite(block.observations).all() or not np.isfinite(block.states).all():
        raise EvaluateError(
            "observations: NaN or infinity in some row: every number must be finite"
        )
    if not block.masks.any(axis=1).all():
        (row, *_) = np.flatnonzero(~block.masks.any(axis=1))
        raise EvaluateError(f"legal: no action in row {row}: a row needs at least one to choose")
    if block.seeds is not None and (block.seeds >> np.uint64(SEED_BITS)).any():
        raise EvaluateError(f"seeds: each must be below 2^{SEED_BITS}")
    return block


def _read_binary(header: BinaryHeader, arrays: memoryview, form: Form) -> Block:
    n, n_states = header.rows, form.n_states
    parts: list[tuple[DTypeLike, tuple[int, ...]]] = [
        (np.float32, (n, *form.observation_shape)),
        (np.uint8, (n, form.n_actions)),
        (np.uint64, (n if header.has_seeds else 0,)),
        (np.float32, (n if header.has_states else 0, n_states)),
    ]
    sizes = [prod(shape) * np.dtype(kind).itemsize for kind, shape in parts]
    if len(arrays) != sum(sizes):
        sizes_text = (
            f"observations {sizes[0]}, masks {sizes[1]}, seeds {sizes[2]}, states {sizes[3]}"
        )
        raise EvaluateError(
            f"{len(arrays)} bytes follow, of {n} rows must {sum(sizes)}: {sizes_text}"
        )
    read, start = [], 0
    for (kind, shape), size in zip(parts, sizes, strict=True):
        read.append(np.frombuffer(arrays[start : start + size], kind).reshape(shape))
        start += size
    states = read[3] if header.has_states else np.zeros((n, n_states), np.float32)
    seeds = read[2] if header.has_seeds else None
    return Block(read[0], read[1].astype(np.bool_), seeds, states)


def _read_json(request: JsonRequest, form: Form) -> Block:
    n = len(request.legal)
    shape = (n, *form.observation_shape)
    masks = np.zeros((n, form.n_actions), np.bool_)
    for row, actions in enumerate(request.legal):
        for action in actions:
            if not 0 <= action < form.n_actions:
                raise EvaluateError(
                    f"legal: {action} in row {row}: must be 0..{form.n_actions - 1}"
                )
            masks[row, action] = True
    states = np.zeros((n, form.n_states), np.float32)
    if request.states is not None:
        states = _read_floats("states", request.states, (n, form.n_states))
    seeds = None
    if request.seeds is not None:
        if len(request.seeds) != n:
            raise EvaluateError(
                f"seeds: {len(request.seeds)} of them, for {n} rows of legal actions"
            )
        seeds = np.array(request.seeds, np.uint64)
    return Block(_read_floats("observations", request.observations, shape), masks, seeds, states)


def _read_floats(name: str, values: Any, shape: tuple[int, ...]) -> FloatBatch:
    """Return nested or flat lists of numbers as an array of this shape."""
    try:
        with np.errstate(over="ignore"):  # what does not fit a float32 is infinite, and refused
            floats = np.asarray(values, np.float64).astype(np.float32)
        return floats.reshape(shape)
    except (TypeError, ValueError, OverflowError) as error:
        text = f"{name}: must be numbers of the shape {list(shape)}, rows first: {error!s:.150}"
        raise EvaluateError(text) from error


def decode_json(text: bytes, form: Any) -> Any:
    """Return a request of this form. Raises EvaluateError."""
    try:
        return msgspec.json.decode(text, type=form)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise EvaluateError(f"the request cannot be read: {error!s:.300}") from error
