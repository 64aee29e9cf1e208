"""Checkpoints as files: safetensors sealed with what is needed to build and play the network.

The SHA-256 of a sealed file is the name of the checkpoint. Architecture and parameters stand in its
metadata, so they are inside the hash: the file alone says what it answers to an observation.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from safetensors import SafetensorError, safe_open

from arena.errors import CheckpointFileError
from arena.parameters import Value
from arena.safetensors_format import (
    Layout,
    TensorSpec,
    read_layout,
    shorten,
    strict_json,
    write_header,
)

MAX_BYTES = 256 * 2**20
FORMAT = "evalsite/1"
_FAMILY = "evalsite/"
_KEYS = ("architecture", "game", "n_actions", "observation_shape", "parameters")
_MAX_TEXT = 200
_MAX_PARAMETERS = 64
_MAX_ACTIONS = 10**6
_MAX_OBSERVATION = 10**7
_MAX_DIMENSIONS = 8
_PIECE_BYTES = 2**20
_N = r"[0-9]+(?:\.[0-9]+)?(?:[kmb](?![a-z]))?"
_STEPS = [
    re.compile(text) for text in (rf"steps?[=_.-]?({_N})", rf"({_N})[_.-]?steps?", rf"({_N})")
]
_MAX_STEP_DIGITS = 18


@dataclass(frozen=True)
class Seal:
    """What a checkpoint is: its architecture with parameters, and what it sees and answers.

    The observation is float32 of that shape; the network answers n_actions logits.
    """

    architecture: str
    parameters: dict[str, Value]
    game: str
    observation_shape: tuple[int, ...]
    n_actions: int


@dataclass(frozen=True)
class CheckpointContents:
    """What a file holds; `seal` is None for safetensors that were never sealed."""

    seal: Seal | None
    tensors: Mapping[str, TensorSpec]
    n_bytes: int


def inspect_file(path: Path, *, max_bytes: int = MAX_BYTES) -> CheckpointContents:
    """Return what the file holds, from its header alone; its tensors are not read.

    Raises CheckpointFileError with the reason for everything that is not exactly safetensors, is
    larger than max_bytes, or is sealed wrongly.
    """
    with _open_checked(path, max_bytes) as (_, layout):
        seal = _read_seal(layout.metadata)
        _check_with_library(path, layout)
        return CheckpointContents(seal, layout.forms(), layout.data_start + layout.data_bytes)


def write_sealed(source: Path, target: Path, seal: Seal, *, max_bytes: int = MAX_BYTES) -> str:
    """Write the checkpoint of a safetensors file; return its SHA-256, which is its name.

    The tensors keep their bytes, other metadata is dropped: equal tensors under an equal seal give
    an equal file. A file that already has this seal is copied as it is. An existing target is
    replaced at once when all is written. Raises CheckpointFileError, leaving no target.
    """
    check_seal(seal)
    found = inspect_file(source, max_bytes=max_bytes).seal
    if found is not None and _seal_to_metadata(found) != _seal_to_metadata(seal):
        raise CheckpointFileError(
            _say_other_seal(_seal_to_metadata(found), _seal_to_metadata(seal))
        )
    with _open_checked(source, max_bytes) as (file, layout), _replace_when_whole(target) as sealed:
        if found is None:
            write_header(sealed, _seal_to_metadata(seal), layout.entries)
            file.seek(layout.data_start)
        else:
            file.seek(0)
        _copy(file, sealed)
        if sealed.tell() > max_bytes:
            raise CheckpointFileError(_say_oversized(sealed.tell(), max_bytes))
    return hash_file(target)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, 64 digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_step(name: str) -> int | None:
    """Return the training step that a file name tells, or None.

    A number next to "step" wins, else the last number: model_step_48.pt, ckpt-000123.safetensors.
    A fraction or a unit (1.5M, 200k) is no whole number of steps: None.
    """
    stem, dot, suffix = Path(name).name.lower().rpartition(".")
    text = stem if dot and stem and not suffix.isdigit() else Path(name).name.lower()
    numbers = next(filter(None, (pattern.findall(text) for pattern in _STEPS)), [])
    digits = numbers[-1].lstrip("0") or "0" if numbers else ""
    return int(digits) if digits.isdecimal() and len(digits) <= _MAX_STEP_DIGITS else None


def check_seal(seal: Seal) -> None:
    """Raise CheckpointFileError unless the seal can stand in a file."""
    for name in ("architecture", "game"):
        _check_text(name, getattr(seal, name))
    _check_parameters(seal.parameters)
    if type(seal.n_actions) is not int or not 1 <= seal.n_actions <= _MAX_ACTIONS:
        raise CheckpointFileError(f"n_actions is {shorten(seal.n_actions)}: 1..{_MAX_ACTIONS}")
    _check_shape(seal.observation_shape)


@contextmanager
def _open_checked(path: Path, max_bytes: int) -> Iterator[tuple[BinaryIO, Layout]]:
    try:
        status = path.stat()
        _check_kind_and_size(status, max_bytes)
        file = path.open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointFileError(f"the file cannot be read: {reason}") from error
    with file:
        yield file, read_layout(file, status.st_size)


def _check_kind_and_size(status: os.stat_result, max_bytes: int) -> None:
    """Refuse before opening: opening a pipe waits for a writer."""
    if stat.S_ISDIR(status.st_mode):
        raise CheckpointFileError("this is a folder: give its files")
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointFileError("this is no regular file")
    if status.st_size > max_bytes:
        raise CheckpointFileError(_say_oversized(status.st_size, max_bytes))


def _say_oversized(n_bytes: int, max_bytes: int) -> str:
    return f"too large: {n_bytes} bytes, at most {max_bytes} are taken"


def _check_with_library(path: Path, layout: Layout) -> None:
    """Let the reference reader, which loads the tensors later, agree with ours."""
    try:
        with safe_open(path, framework="numpy") as opened:
            agreed = set(opened.keys()) == set(layout.entries)
    except (SafetensorError, OSError) as error:
        raise CheckpointFileError(f"safetensors cannot read it: {error!s:.200}") from None
    if not agreed:
        raise CheckpointFileError("safetensors reads other tensors than the header names")


@contextmanager
def _replace_when_whole(target: Path) -> Iterator[BinaryIO]:
    """Write a file beside the target; only a whole one takes its name."""
    with NamedTemporaryFile(dir=target.parent, prefix=".sealing-", delete=False) as file:
        try:
            yield file  # type: ignore[misc]
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    while piece := source.read(_PIECE_BYTES):
        target.write(piece)


def _say_other_seal(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    names = [key for key in _KEYS if found[key] != wanted[key]]
    shown = "; ".join(f"{key} {shorten(found[key])}, not {shorten(wanted[key])}" for key in names)
    return f"the file is already sealed with {shown}"


def _seal_to_metadata(seal: Seal) -> dict[str, str]:
    return {
        "format": FORMAT,
        "architecture": seal.architecture,
        "parameters": json.dumps(seal.parameters, sort_keys=True, separators=(",", ":")),
        "game": seal.game,
        "observation_shape": json.dumps(seal.observation_shape, separators=(",", ":")),
        "n_actions": str(seal.n_actions),
    }


def _read_seal(metadata: Mapping[str, str]) -> Seal | None:
    form = metadata.get("format", "")
    if not form.startswith(_FAMILY):
        return None
    if form != FORMAT:
        raise CheckpointFileError(f"sealed as {shorten(form)}: this version reads {FORMAT}")
    wrong = sorted({"format", *_KEYS} ^ set(metadata))
    if wrong:
        shown = ", ".join(map(shorten, wrong[:5]))
        raise CheckpointFileError(
            f"the seal must have {', '.join(_KEYS)}; missing or extra: {shown}"
        )
    parameters, shape, n_actions = (
        strict_json(f"{key} of the seal", metadata[key])
        for key in ("parameters", "observation_shape", "n_actions")
    )
    if not isinstance(shape, list):
        raise CheckpointFileError(f"observation_shape is {shorten(shape)}: must be a list")
    seal = Seal(metadata["architecture"], parameters, metadata["game"], tuple(shape), n_actions)
    check_seal(seal)
    return seal


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= _MAX_TEXT:
        wanted = f"must be a printable text of 1..{_MAX_TEXT} characters"
        raise CheckpointFileError(f"{name} of the seal is {shorten(text)}: {wanted}")


def _check_parameters(parameters: object) -> None:
    if not isinstance(parameters, dict) or len(parameters) > _MAX_PARAMETERS:
        wanted = f"must be an object of at most {_MAX_PARAMETERS}"
        raise CheckpointFileError(f"parameters of the seal are {shorten(parameters)}: {wanted}")
    for name, value in parameters.items():
        _check_text("a parameter's name", name)
        if not _is_value(value):
            wanted = "must be a number, true, false or a short text"
            raise CheckpointFileError(f"parameter {shorten(name)} is {shorten(value)}: {wanted}")


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        return value.isprintable() and len(value) <= _MAX_TEXT
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and abs(value) < 2**63


def _check_shape(shape: tuple[int, ...]) -> None:
    size = 1 if 1 <= len(shape) <= _MAX_DIMENSIONS else 0
    for length in shape[:_MAX_DIMENSIONS]:
        size *= length if type(length) is int and 0 < length <= _MAX_OBSERVATION else 0
    if not 1 <= size <= _MAX_OBSERVATION:
        wanted = f"must be 1..{_MAX_DIMENSIONS} lengths of at most {_MAX_OBSERVATION} floats in all"
        raise CheckpointFileError(f"observation_shape is {shorten(list(shape))}: {wanted}")
