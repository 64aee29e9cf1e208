"""The safetensors format: its header read and checked byte for byte before anything is believed.

A file is 8 bytes of header length (little-endian), a JSON header and one buffer that the tensors
fill without overlap or gap. Everything else is refused with the reason; nothing is unpickled.
Source: https://huggingface.co/docs/safetensors, section Format.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO, NamedTuple, NoReturn

from arena.errors import CheckpointFileError

# A thousand times what a catalog network needs; it bounds the time and memory of reading one.
MAX_HEADER_BYTES = 2**20
MAX_TENSORS = 4096
MAX_DIMENSIONS = 8
METADATA = "__metadata__"
BYTES_OF = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64"), 8),
}
_LENGTH_BYTES = 8
_TAIL_BYTES = 2**16
_WANTED = "upload a safetensors file"
_FOREIGN = {
    b"\x80": "a pickle, which can run code when read",
    b"(dp": "a pickle, which can run code when read",
    b"ccollections\n": "a pickle, which can run code when read",
    b"\x89HDF": "an HDF5 file",
    b"GGUF": "a GGUF file",
    b"\x93NUMPY": "a NumPy array",
    b"\x1f\x8b": "a gzip file",
}
_ARCHIVES = {
    b"/code/": "a TorchScript archive, which is a program",
    b"policy.pth": "a Stable-Baselines3 archive",
    b"data.pkl": "a pickle inside a zip (torch.save), which can run code when read",
    b".npy": "a NumPy archive",
}


class TensorSpec(NamedTuple):
    """What a header says of one tensor: dtype in the words of safetensors ("F32"), and shape."""

    dtype: str
    shape: tuple[int, ...]


class TensorEntry(NamedTuple):
    """One tensor and its place in the buffer, in bytes."""

    form: TensorSpec
    begin: int
    end: int


@dataclass(frozen=True)
class Layout:
    """A checked header: every byte of the buffer belongs to exactly one tensor.

    `entries` are in the order of the buffer, which begins at `data_start` of the file.
    """

    metadata: Mapping[str, str]
    entries: Mapping[str, TensorEntry]
    data_start: int
    data_bytes: int

    def tensor_specs(self) -> dict[str, TensorSpec]:
        """Return dtype and shape by name of tensor."""
        return {name: entry.form for name, entry in self.entries.items()}


def read_layout(file: BinaryIO, n_bytes: int) -> Layout:
    """Return the layout of a file of n_bytes; reads its header only.

    Raises CheckpointFileError saying what is wrong: another format, truncated, a lying header ...
    """
    if n_bytes == 0:
        raise CheckpointFileError(f"the file is empty: {_WANTED}")
    # One byte more than the length: a header begins with a brace, and other formats do not.
    head = file.read(_LENGTH_BYTES + 1)
    n_header = int.from_bytes(head[:_LENGTH_BYTES], "little")
    data_start = _LENGTH_BYTES + n_header
    if head[_LENGTH_BYTES:] != b"{" or n_header > MAX_HEADER_BYTES or data_start > n_bytes:
        _refuse_foreign(file, head, n_bytes)
    header = strict_json("the header", b"{" + file.read(n_header - 1))
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(t, str) for t in metadata.values()):
        raise CheckpointFileError(f"{METADATA} must map texts to texts, got {shorten(metadata)}")
    data_bytes = n_bytes - data_start
    return Layout(metadata, _read_entries(header, data_bytes), data_start, data_bytes)


def write_header(
    file: BinaryIO, metadata: Mapping[str, str], entries: Mapping[str, TensorEntry]
) -> None:
    """Write length and header: equal arguments give equal bytes, padded to 8 for the buffer."""
    header: dict[str, Any] = {METADATA: dict(sorted(metadata.items()))}
    for name, ((dtype, shape), begin, end) in entries.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    # Readers map the buffer into memory, where 8-byte numbers must lie on multiples of 8.
    text += b" " * (-len(text) % _LENGTH_BYTES)
    if len(text) > MAX_HEADER_BYTES:
        raise CheckpointFileError(_say_oversized(len(text)))
    file.write(len(text).to_bytes(_LENGTH_BYTES, "little") + text)


def shorten(value: object) -> str:
    """Return value for a message: what a file claims may be long."""
    return f"{value!r:.60}"


def _refuse_foreign(file: BinaryIO, head: bytes, n_bytes: int) -> NoReturn:
    if head.startswith(b"PK"):
        # A zip lists its files at its end; reading more of it would be as long as its author likes.
        file.seek(max(0, n_bytes - _TAIL_BYTES))
        tail = file.read(_TAIL_BYTES)
        foreign = next((kind for mark, kind in _ARCHIVES.items() if mark in tail), "a zip archive")
    else:
        foreign = next((kind for mark, kind in _FOREIGN.items() if head.startswith(mark)), "")
    if foreign:
        raise CheckpointFileError(
            f"this is {foreign}: {_WANTED} (`./run checkpoints convert` makes one)"
        )
    if len(head) <= _LENGTH_BYTES:
        raise CheckpointFileError(f"truncated: {n_bytes} bytes hold no header; {_WANTED}")
    n_header = int.from_bytes(head[:_LENGTH_BYTES], "little")
    if head[_LENGTH_BYTES:] != b"{":
        raise CheckpointFileError(f"no safetensors header begins after 8 bytes: {_WANTED}")
    if _LENGTH_BYTES + n_header > n_bytes:
        room = n_bytes - _LENGTH_BYTES
        raise CheckpointFileError(
            f"truncated, or a lying header: it claims {n_header} bytes where {room} follow"
        )
    raise CheckpointFileError(_say_oversized(n_header))


def _say_oversized(n_header: int) -> str:
    return f"a header of {n_header} bytes: at most {MAX_HEADER_BYTES} are read"


def strict_json(name: str, text: bytes | str) -> Any:
    """Return what JSON text holds. Raises CheckpointFileError also for a key that is given twice.

    Readers differ in which of two equal keys they believe.
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text  # json.loads would guess UTF-16
        return json.loads(
            text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant
        )
    except RecursionError:
        raise CheckpointFileError(f"{name} is nested too deep") from None
    except ValueError as error:
        raise CheckpointFileError(f"{name} is no JSON: {error!s:.200}") from None


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"{shorten(twice)} is named twice")
    return unique


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"it holds {word}")


def _read_entries(header: dict[str, Any], data_bytes: int) -> dict[str, TensorEntry]:
    if not header:
        raise CheckpointFileError("the file holds no tensors")
    if len(header) > MAX_TENSORS:
        raise CheckpointFileError(f"{len(header)} tensors: at most {MAX_TENSORS} are read")
    entries = [(name, _read_entry(name, raw, data_bytes)) for name, raw in header.items()]
    # By their place in the buffer; empty tensors share one, so the name decides.
    entries.sort(key=lambda pair: (pair[1].begin, pair[1].end, pair[0]))
    position = 0
    for name, entry in entries:
        if entry.begin != position:
            problem = (
                "overlaps the one before" if entry.begin < position else "leaves a hole before"
            )
            at = f"it begins at byte {entry.begin}, not {position}"
            raise CheckpointFileError(f"a lying header: tensor {shorten(name)} {problem}: {at}")
        position = entry.end
    if position != data_bytes:
        extra = data_bytes - position
        raise CheckpointFileError(f"a lying header: {extra} bytes after the last tensor")
    return dict(entries)


def _read_entry(name: str, raw: object, data_bytes: int) -> TensorEntry:
    tensor = f"tensor {shorten(name)}"
    if not isinstance(raw, dict) or set(raw) != {"dtype", "shape", "data_offsets"}:
        raise CheckpointFileError(f"{tensor} must have dtype, shape and data_offsets, no more")
    dtype, shape, offsets = raw["dtype"], raw["shape"], raw["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BYTES_OF:
        dtypes = ", ".join(BYTES_OF)
        raise CheckpointFileError(
            f"{tensor} has the unknown dtype {shorten(dtype)}: known are {dtypes}"
        )
    if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
        rule = f"at most {MAX_DIMENSIONS} whole numbers"
        raise CheckpointFileError(f"{tensor} has shape {shorten(shape)}: must be {rule}")
    match offsets:
        case [int(begin), int(end)] if _are_counts(offsets) and begin <= end:
            pass
        case _:
            raise CheckpointFileError(
                f"{tensor} has offsets {shorten(offsets)}: must be [begin, end]"
            )
    if end > data_bytes:
        raise CheckpointFileError(
            f"truncated, or a lying header: {tensor} ends at byte {end} of {data_bytes}"
        )
    # Else a reader would take bytes of another tensor for this one.
    if prod(shape) * BYTES_OF[dtype] != end - begin:
        claim = f"{dtype} {shorten(shape)}"
        raise CheckpointFileError(f"a lying header: {tensor} is {claim} in {end - begin} bytes")
    return TensorEntry(TensorSpec(dtype, tuple(shape)), begin, end)


def _are_counts(raw: object) -> bool:
    return isinstance(raw, list) and all(type(n) is int and 0 <= n < 2**63 for n in raw)
