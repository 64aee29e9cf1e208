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
from shutil import copyfileobj
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
# A longer number is a date or a hash, and would not fit the database's bigint.
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
        # The reference reader loads the tensors later: where it disagrees with ours, refuse now.
        try:
            with safe_open(path, framework="numpy") as opened:
                is_agreed = set(opened.keys()) == set(layout.entries)
        except (SafetensorError, OSError) as error:
            raise CheckpointFileError(f"safetensors cannot read it: {error!s:.200}") from None
        if not is_agreed:
            raise CheckpointFileError("safetensors reads other tensors than the header names")
        return CheckpointContents(
            seal, layout.tensor_specs(), layout.data_start + layout.data_bytes
        )


def write_sealed(source: Path, target: Path, seal: Seal, *, max_bytes: int = MAX_BYTES) -> str:
    """Write the checkpoint of a safetensors file; return its SHA-256, which is its name.

    The tensors keep their bytes, other metadata is dropped: equal tensors under an equal seal give
    an equal file. A file that already has this seal is copied as it is. An existing target is
    replaced at once when all is written. Raises CheckpointFileError, leaving no target.
    """
    check_seal(seal)
    metadata, is_sealed = _seal_to_metadata(seal), False
    present_seal = inspect_file(source, max_bytes=max_bytes).seal
    if present_seal is not None:
        present, is_sealed = _seal_to_metadata(present_seal), True
        others = [key for key in _KEYS if present[key] != metadata[key]]
        if others:
            difference = [
                f"{key} {shorten(present[key])}, not {shorten(metadata[key])}" for key in others
            ]
            raise CheckpointFileError(f"the file is already sealed with {'; '.join(difference)}")
    with _open_checked(source, max_bytes) as (file, layout), _replace_when_whole(target) as sealed:
        if is_sealed:
            file.seek(0)
        else:
            write_header(sealed, metadata, layout.entries)
            file.seek(layout.data_start)
        copyfileobj(file, sealed, _PIECE_BYTES)
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
    # From the surest pattern to the vaguest: the first that finds a number decides.
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
    shape = seal.observation_shape
    n_floats = 1 if 1 <= len(shape) <= _MAX_DIMENSIONS else 0
    for length in shape[:_MAX_DIMENSIONS]:
        # type() and not isinstance(): JSON's true is an int to Python.
        n_floats *= length if type(length) is int and 0 < length <= _MAX_OBSERVATION else 0
    if not 1 <= n_floats <= _MAX_OBSERVATION:
        rule = f"must be 1..{_MAX_DIMENSIONS} lengths of at most {_MAX_OBSERVATION} floats in all"
        raise CheckpointFileError(f"observation_shape is {shorten(list(shape))}: {rule}")


@contextmanager
def _open_checked(path: Path, max_bytes: int) -> Iterator[tuple[BinaryIO, Layout]]:
    try:
        status = path.stat()
        # Before opening: to open a named pipe waits until somebody writes to it.
        if stat.S_ISDIR(status.st_mode):
            raise CheckpointFileError("this is a folder: give its files")
        if not stat.S_ISREG(status.st_mode):
            raise CheckpointFileError("this is no regular file")
        if status.st_size > max_bytes:
            raise CheckpointFileError(_say_oversized(status.st_size, max_bytes))
        file = path.open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointFileError(f"the file cannot be read: {reason}") from error
    with file:
        yield file, read_layout(file, status.st_size)


def _say_oversized(n_bytes: int, max_bytes: int) -> str:
    return f"too large: {n_bytes} bytes, at most {max_bytes} are taken"


@contextmanager
def _replace_when_whole(target: Path) -> Iterator[BinaryIO]:
    """Yield a file beside the target, on the same disk; only a whole one takes its name."""
    with NamedTemporaryFile(dir=target.parent, prefix=".sealing-", delete=False) as file:
        try:
            yield file  # type: ignore[misc]
            # The rename may reach the disk before the bytes do: sync first.
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def _seal_to_metadata(seal: Seal) -> dict[str, str]:
    return {
        "format": FORMAT,
        "architecture": seal.architecture,
        # Sorted and without spaces: equal seals give equal bytes, and so equal hashes.
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
        wrong_keys = ", ".join(map(shorten, wrong[:5]))
        raise CheckpointFileError(
            f"the seal must have {', '.join(_KEYS)}; missing or extra: {wrong_keys}"
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
        rule = f"must be a printable text of 1..{_MAX_TEXT} characters"
        raise CheckpointFileError(f"{name} of the seal is {shorten(text)}: {rule}")


def _check_parameters(parameters: object) -> None:
    if not isinstance(parameters, dict) or len(parameters) > _MAX_PARAMETERS:
        rule = f"must be an object of at most {_MAX_PARAMETERS}"
        raise CheckpointFileError(f"parameters of the seal are {shorten(parameters)}: {rule}")
    for name, value in parameters.items():
        _check_text("a parameter's name", name)
        if not _is_value(value):
            rule = "must be a number, true, false or a short text"
            raise CheckpointFileError(f"parameter {shorten(name)} is {shorten(value)}: {rule}")


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        return value.isprintable() and len(value) <= _MAX_TEXT
    # JSON as Python reads it has NaN, infinity and ints without a limit.
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and abs(value) < 2**63
