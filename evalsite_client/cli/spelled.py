"""Agents as people name them: files of checkpoints among them are uploaded first."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from evalsite_client.cli.following import write_line
from evalsite_client.client import Client
from evalsite_client.errors import InputError

SUFFIX: Final = ".safetensors"
_N: Final = r"[0-9]+(?:\.[0-9]+)?(?:[kmb](?![a-z]))?"
_STEPS: Final = [
    re.compile(text) for text in (rf"steps?[=_.-]?({_N})", rf"({_N})[_.-]?steps?", rf"({_N})")
]
_MAX_STEP_DIGITS: Final = 18


def upload_files(client: Client, texts: Sequence[str], *, game: str, out: TextIO) -> list[str]:
    """Return agents by name: of a file of a checkpoint, the one that it becomes once checked."""
    return [
        _upload_file(client, text, game, out) if text.endswith(SUFFIX) else text for text in texts
    ]


def _upload_file(client: Client, text: str, game: str, out: TextIO) -> str:
    """Return the name of the agent of a file: its folder's name and the step in its own."""
    path = Path(text)
    if not path.is_file():
        raise InputError("agents", f"there is no file {text!r}")
    step = read_step(path.name)
    run = path.resolve().parent.name if step is not None else path.stem
    sent = client.checkpoints.upload(path, name=run, game=game, step=step)
    checked = client.checkpoints.wait(sent.sha256)
    if checked.state == "refused":
        raise InputError("agents", f"{text}: refused: {checked.reason}")
    name = run if step is None else f"{run}@{step}"
    names = [agent.name for agent in checked.agents]
    name = name if name in names else names[0]
    write_line(out, f"{path.name} is the agent {name}")
    return name


def read_step(name: str) -> int | None:
    """Return the training step that a file name tells, or None; as the server reads it.

    A number next to "step" wins, else the last number: model_step_48.pt, ckpt-000123.safetensors.
    A fraction or a unit (1.5M, 200k) is no whole number of steps: None.
    """
    stem, dot, suffix = Path(name).name.lower().rpartition(".")
    text = stem if dot and stem and not suffix.isdigit() else Path(name).name.lower()
    numbers = next(filter(None, (pattern.findall(text) for pattern in _STEPS)), [])
    digits = numbers[-1].lstrip("0") or "0" if numbers else ""
    return int(digits) if digits.isdecimal() and len(digits) <= _MAX_STEP_DIGITS else None
