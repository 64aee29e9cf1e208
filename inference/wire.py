"""Requests and answers as bytes: a small header, then the raw floats. Never JSON, never pickle.

Layout: version and length of the header (two little-endian uint16), the header in MessagePack,
zeros up to a multiple of 16, then the arrays as they lie in memory (little-endian float32,
C order). Decoding copies nothing: the arrays are read-only views of the message.
"""

import sys
from math import prod
from struct import Struct as Layout
from typing import Annotated, NamedTuple, TypeVar

import msgspec
import numpy as np

from arena.policies.network_policy import FloatBatch, NetworkOutput
from inference.errors import RequestError
from inference.protocol import Answer, BlockRequest, CheckpointRef, Fault, FaultKind

# Client and server must have the same: a request of another version is dropped as unreadable.
VERSION = 2
# Of one request.
MAX_BYTES = 16 << 20
DTYPE = "float32"
MAX_DETAIL = 500
_MIN_NDIM = 2

# Unlike "$", "\Z" does not match before a newline at the end.
# The name of a node, and a number that nobody else can guess: answers go there.
Client = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,60}:[0-9a-f]{32}\Z")]
Checkpoint = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
# Joined to the web server's address: anything but a path could name another server.
Source = Annotated[str, msgspec.Meta(pattern=r"^(/[!-~]*)?\Z", max_length=400)]
Size = Annotated[int, msgspec.Meta(ge=0, le=MAX_BYTES)]
RequestId = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Milliseconds = Annotated[float, msgspec.Meta(ge=0, le=1e15)]

_PREFIX = Layout("<HH")
_ALIGNMENT = 16
_PADDING = [bytes(n) for n in range(_ALIGNMENT)]
_FLOAT = 4

if sys.byteorder != "little":
    raise ImportError("blocks travel as they lie in memory, and that is little-endian")


class MalformedError(ValueError):
    """Bytes that nobody can be told about: not even the header can be read."""


class RequestHeader(msgspec.Struct, frozen=True, array_like=True):
    """What precedes a block. Times are milliseconds of the fast store's clock."""

    client: Client
    request: RequestId
    asked_ms: Milliseconds
    deadline_ms: Milliseconds
    checkpoint: Checkpoint
    source: Source
    dtype: Annotated[str, msgspec.Meta(max_length=16)]
    shape: Annotated[list[Size], msgspec.Meta(min_length=_MIN_NDIM, max_length=8)]
    state_size: Size


class AnswerHeader(msgspec.Struct, frozen=True, array_like=True):
    """What precedes an evaluation; a fault has a kind, a detail and no floats."""

    request: RequestId
    kind: str
    detail: str
    n_rows: Size
    n_actions: Size
    state_size: Size


class Request(NamedTuple):
    """A request as the server sees it; in the place of a block that cannot be used, why."""

    client: str
    request: int
    asked_ms: float
    deadline_ms: float
    block: BlockRequest | Fault
    n_rows: int


Header = TypeVar("Header", RequestHeader, AnswerHeader)

_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(RequestHeader)
_answers = msgspec.msgpack.Decoder(AnswerHeader)


def encode_request(
    block: BlockRequest, *, client: str, request: int, asked_ms: float, deadline_ms: float
) -> bytes:
    """Return the bytes of a request. Raises RequestError when it is too large to be sent."""
    observations, states = block.observations, block.states
    if observations.ndim < _MIN_NDIM or states.shape[:-1] != observations.shape[:1]:
        shapes = f"{observations.shape} with states {states.shape}"
        raise RequestError(f"a block of shape {shapes}; [B, ...] with [B, S] is needed")
    header = RequestHeader(
        client,
        request,
        asked_ms,
        deadline_ms,
        *block.ref,
        DTYPE,
        list(observations.shape),
        states.shape[1],
    )
    encoded = _join_parts(header, observations, states)
    if len(encoded) > MAX_BYTES:
        raise RequestError(f"a block of {len(encoded)} bytes; at most {MAX_BYTES} are taken")
    return encoded


def decode_request(raw: bytes) -> Request:
    """Return the request. Raises MalformedError when not even its client can be read.

    Also when more was sent than our clients ever send: nobody need be told.
    """
    if len(raw) > MAX_BYTES:
        raise MalformedError(f"{len(raw)} bytes; at most {MAX_BYTES} are taken")
    try:
        header, start = _read_header(raw, _requests)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise MalformedError(str(error)) from error
    return Request(
        header.client,
        header.request,
        header.asked_ms,
        header.deadline_ms,
        _read_block(raw, start, header),
        header.shape[0],
    )


def encode_answer(request: int, answer: Answer) -> bytes:
    """Return the bytes of an answer."""
    if isinstance(answer, Fault):
        detail = answer.detail[:MAX_DETAIL]
        return _join_parts(AnswerHeader(request, answer.kind.value, detail, 0, 0, 0))
    n_rows, n_actions = answer.logits.shape
    return _join_parts(
        AnswerHeader(request, "", "", n_rows, n_actions, answer.states.shape[1]), *answer
    )


def decode_answer(raw: bytes) -> tuple[int, Answer]:
    """Return whose answer it is, and the answer. Raises MalformedError."""
    try:
        header, start = _read_header(raw, _answers)
        if header.kind:
            return header.request, Fault(FaultKind(header.kind), header.detail)
        return header.request, _read_evaluation(raw, start, header)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise MalformedError(str(error)) from error


def _join_parts(header: RequestHeader | AnswerHeader, *arrays: FloatBatch) -> bytes:
    encoded = _encoder.encode(header)
    padding = _PADDING[-(_PREFIX.size + len(encoded)) % _ALIGNMENT]
    parts = [_PREFIX.pack(VERSION, len(encoded)), encoded, padding]
    # Views of the memory, not copies, where the arrays lie in it in order.
    floats = [np.ascontiguousarray(a, dtype=np.float32).data for a in arrays if a.size]
    return b"".join([*parts, *floats])


def _read_header(raw: bytes, decoder: msgspec.msgpack.Decoder[Header]) -> tuple[Header, int]:
    if len(raw) < _PREFIX.size:
        raise ValueError(f"{len(raw)} bytes are too few")
    version, n_header = _PREFIX.unpack_from(raw)
    end = _PREFIX.size + n_header
    if version != VERSION or end > len(raw):
        raise ValueError(f"version {version}, header of {n_header} bytes")
    return decoder.decode(memoryview(raw)[_PREFIX.size : end]), end + -end % _ALIGNMENT


def _read_block(raw: bytes, start: int, header: RequestHeader) -> BlockRequest | Fault:
    n_rows, n_floats = header.shape[0], prod(header.shape)
    n_bytes = _FLOAT * (n_floats + n_rows * header.state_size)
    if header.dtype != DTYPE:
        return _refuse_block(f"floats of type {header.dtype!r}; {DTYPE} is needed")
    if not n_rows or not n_floats:
        return _refuse_block(f"a block of shape {header.shape} holds nothing")
    if len(raw) - start != n_bytes:
        return _refuse_block(f"{len(raw) - start} bytes of floats; the header says {n_bytes}")
    observations = np.frombuffer(raw, np.float32, n_floats, start).reshape(header.shape)
    states = np.frombuffer(raw, np.float32, -1, start + _FLOAT * n_floats)
    ref = CheckpointRef(header.checkpoint, header.source)
    return BlockRequest(ref, observations, states.reshape(n_rows, header.state_size))


def _refuse_block(detail: str) -> Fault:
    return Fault(FaultKind.BAD_REQUEST, detail)


def _read_evaluation(raw: bytes, start: int, header: AnswerHeader) -> NetworkOutput:
    n, sizes = header.n_rows, (header.n_actions, 1, header.state_size)
    if len(raw) - start != _FLOAT * n * sum(sizes):
        raise ValueError(f"{len(raw) - start} bytes of floats do not fit {n} rows of {sizes}")
    floats = np.frombuffer(raw, np.float32, -1, start)
    n_logits = n * header.n_actions
    return NetworkOutput(
        floats[:n_logits].reshape(n, header.n_actions),
        floats[n_logits : n_logits + n],
        floats[n_logits + n :].reshape(n, header.state_size),
    )
