"""Weights as safetensors: checked before a number is believed, and nothing is ever unpickled."""

import json
from collections.abc import Mapping
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalsite_client.errors import AnswerError

Floats = NDArray[np.float32]
LENGTH_BYTES: Final = 8
MOST_HEADER_BYTES: Final = 2**20
METADATA: Final = "__metadata__"
DTYPE: Final = "F32"
FLOAT_BYTES: Final = 4


class Weights(NamedTuple):
    """What a file holds: its metadata, and its tensors by name."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, Floats]


def read_weights(content: bytes) -> Weights:
    """Return what a safetensors file of float32 holds. Raises AnswerError for any other file.

    A file is 8 bytes of header length, a JSON header, and a buffer that the tensors fill.
    """
    n_header = int.from_bytes(content[:LENGTH_BYTES], "little")
    begin = LENGTH_BYTES + n_header
    is_headed = content[LENGTH_BYTES : LENGTH_BYTES + 1] == b"{"
    if not is_headed or n_header > MOST_HEADER_BYTES or begin > len(content):
        raise _make_error("no header of a JSON object begins after 8 bytes")
    try:
        # Bytes would be taken for UTF-16 where they look like it.
        header = json.loads(content[LENGTH_BYTES:begin].decode())
    except (ValueError, RecursionError) as error:
        raise _make_error(f"its header is no JSON: {error!s:.100}") from error
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise _make_error("its metadata does not map texts to texts")
    buffer = memoryview(content)[begin:]
    tensors = {name: _read_tensor(name, entry, buffer) for name, entry in header.items()}
    if sum(tensor.nbytes for tensor in tensors.values()) != len(buffer):
        raise _make_error("its tensors overlap or do not fill it")
    return Weights(metadata, tensors)


def _read_tensor(name: str, entry: Any, buffer: memoryview) -> Floats:
    match entry:
        case {"dtype": str(dtype), "shape": [*shape], "data_offsets": [begin, end]} if _are_counts(
            [*shape, begin, end]
        ):
            pass
        case _:
            raise _make_error(f"tensor {name!r:.60} has no dtype, shape and offsets")
    if dtype != DTYPE:
        raise _make_error(f"tensor {name!r:.60} is {dtype!r:.20}: {DTYPE} is read")
    if end > len(buffer) or end - begin != prod(shape) * FLOAT_BYTES:
        raise _make_error(
            f"tensor {name!r:.60} is {shape} from byte {begin} to {end} of {len(buffer)}"
        )
    # A copy of one's own, in whose memory arithmetic is fast.
    tensor = np.frombuffer(buffer[begin:end], "<f4").reshape(shape).astype(np.float32)
    if not np.isfinite(tensor).all():
        raise _make_error(f"tensor {name!r:.60} holds NaN or infinity")
    return tensor


def _are_counts(values: list[Any]) -> bool:
    # type() and not isinstance(): JSON's true is an int to Python.
    return all(type(value) is int and 0 <= value < 2**62 for value in values)


def _make_error(reason: str) -> AnswerError:
    return AnswerError(f"the weights are not safetensors as evalsite publishes them: {reason}")
