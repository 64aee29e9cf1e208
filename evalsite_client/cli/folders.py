"""The checkpoint files of a training run's folder: which are new and whole."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from evalsite_client.cli.spelled import SUFFIX, read_step
from evalsite_client.errors import InputError

WRITTEN_FOR_S: Final = 2.0
"""A file that has not changed for so long is whole."""
N_LENGTH: Final = 8
"""Bytes of the length of a safetensors header."""
WRITTEN: Final = "it is being written"
GONE: Final = "it was taken away, is a link to nothing or cannot be looked at"
NS: Final = 1e9
NOT_WHOLE: Final = (
    "this is no whole safetensors file; "
    "`evalsite checkpoints convert` makes such files of .pt files"
)


class Stamp(NamedTuple):
    """What tells whether a file is still as it was."""

    changed_ns: int
    n_bytes: int


class Files(NamedTuple):
    """The checkpoint files of a folder: what is to be judged, and why the others are not."""

    new: list[tuple[int, Path]]
    """By step; also of one whose evaluation was interrupted."""
    left_out: dict[Path, str]
    refused: dict[Path, str]
    """Files of one step, of which nobody can tell which is meant."""
    n_others: int
    """Files that are no *.safetensors."""


def find_files(folder: Path, done: Mapping[int | None, str], *, now_s: float) -> Files:
    """Return every file of the folder: to be judged, or left out for a reason.

    done: why steps need no evaluation. now_s: seconds since the epoch. Raises InputError: no
    folder.
    """
    if not folder.is_dir():
        raise InputError("folder", f"there is no folder {str(folder)!r}")
    by_step: dict[int, list[Path]] = {}
    left_out: dict[Path, str] = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        step, stamp = read_step(path.name), read_stamp(path)
        if step is None:
            left_out[path] = "its name has no step, such as step_1000"
        elif step in done:
            left_out[path] = done[step]
        elif stamp is None:
            left_out[path] = GONE
        # Of a clock that is ahead, or was set back here, nobody knows for how long it is whole; one
        # that is not is refused, and judged again once it has changed.
        elif abs(now_s - stamp.changed_ns / NS) < WRITTEN_FOR_S:
            left_out[path] = WRITTEN
        else:
            by_step.setdefault(step, []).append(path)
    new, refused = [], {}
    for step, paths in sorted(by_step.items()):
        if len(paths) == 1:
            new.append((step, paths[0]))
        else:
            names = " and ".join(path.name for path in paths)
            reason = f"{names} are of one step, {step}: leave one of them there"
            refused.update(dict.fromkeys(paths, reason))
    n_others = sum(path.suffix != SUFFIX and _is_file(path) for path in folder.iterdir())
    return Files(new, left_out, refused, n_others)


def read_stamp(path: Path) -> Stamp | None:
    """Return what changes with a file; None where it is gone or cannot be looked at."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return Stamp(stat.st_mtime_ns, stat.st_size)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # of what cannot be looked at nobody can tell
        return False


def find_run(folder: Path) -> list[tuple[int, Path]]:
    """Return the safetensors files of a folder as a run, by the steps that their names tell.

    Raises InputError: no file, one that is not whole, a name without a step, or two of one step.
    """
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    if not paths:
        advice = "it holds no *.safetensors; `evalsite checkpoints convert` makes them of .pt files"
        raise InputError("file", f"{folder}: {advice}")
    by_step: dict[int, Path] = {}
    for path in paths:
        step = read_step(path.name)
        if step is None:
            raise InputError("step", f"{path}: the name tells no step: name it step_1000 or so")
        if step in by_step:
            raise InputError("step", f"{by_step[step]} and {path} are both of step {step}")
        by_step[step] = path
    # Before any is sent: the server takes one file at a time, and would keep half a run.
    for path in paths:
        _check_header(path)
    return sorted(by_step.items())


def _check_header(path: Path) -> None:
    """Raise InputError where a file does not begin as safetensors do: length, then JSON."""
    with path.open("rb") as file:
        n_bytes = int.from_bytes(file.read(N_LENGTH), "little")
        is_json = file.read(1) == b"{"
    if not is_json or n_bytes > path.stat().st_size - N_LENGTH:
        raise InputError("file", f"{path}: {NOT_WHOLE}")


def read_game(path: Path) -> str:
    """Return the game that a sealed file names; empty: it is not sealed. It begins as it should.

    Raises InputError where what follows cannot be read.
    """
    with path.open("rb") as file:
        header = file.read(int.from_bytes(file.read(N_LENGTH), "little"))
    try:
        return str(json.loads(header).get("__metadata__", {}).get("game", ""))
    except (ValueError, AttributeError) as error:
        raise InputError("file", f"{path}: {NOT_WHOLE}") from error
