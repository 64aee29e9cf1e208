"""Agents as people name them: new files of checkpoints among them are uploaded first."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from evalsite_client.api.checkpoints import Checkpoint
from evalsite_client.cli.following import write_line
from evalsite_client.client import Client
from evalsite_client.errors import InputError, NotThereError
from evalsite_client.uploads import compute_sha256

SUFFIX: Final = ".safetensors"
REFUSED: Final = "refused"
_N: Final = r"[0-9]+(?:\.[0-9]+)?(?:[kmb](?![a-z]))?"
_STEPS: Final = [
    re.compile(text) for text in (rf"steps?[=_.-]?({_N})", rf"({_N})[_.-]?steps?", rf"({_N})")
]
_MAX_STEP_DIGITS: Final = 18


def upload_files(client: Client, texts: Sequence[str], *, game: str, out: TextIO) -> list[str]:
    """Return agents by name: of a file of a checkpoint, the one that has it once it is checked."""
    return [
        _name_agent(client, text, game, out) if text.endswith(SUFFIX) else text for text in texts
    ]


def _name_agent(client: Client, text: str, game: str, out: TextIO) -> str:
    """Return the name of the agent of a file, which is sent unless an agent has it."""
    path = Path(text)
    if not path.is_file():
        raise InputError("agents", f"there is no file {text!r}")
    name = _find_agent(client, path, game) or _upload_file(client, path, game)
    write_line(out, f"{path.name} is the agent {name}")
    return name


def _find_agent(client: Client, path: Path, game: str) -> str:
    """Return the name of the game's agent with a checkpoint of this hash; empty if none."""
    try:
        stored = client.checkpoints.get(compute_sha256(path))
    except NotThereError:
        return ""
    # One that was refused is sent anew, to be checked once more.
    is_of_game = not game or stored.game == game
    if not (stored.agents and is_of_game) or stored.state == REFUSED:
        return ""
    _wait_for_check(client, stored.sha256, path)
    agent = client.agents.get(min(agent.id for agent in stored.agents))
    while agent.newer is not None:
        agent = client.agents.get(agent.newer)
    return agent.name


def _upload_file(client: Client, path: Path, game: str) -> str:
    """Return the name of the new agent of a file: its folder's name and the step in its own."""
    step = read_step(path.name)
    run = path.resolve().parent.name if step is not None else path.stem
    sent = client.checkpoints.upload(path, name=run, game=game, step=step)
    checked = _wait_for_check(client, sent.sha256, path)
    name = run if step is None else f"{run}@{step}"
    names = [agent.name for agent in checked.agents]
    return name if name in names else names[0]


def _wait_for_check(client: Client, sha256: str, path: Path) -> Checkpoint:
    """Return a checkpoint that has passed its check. Raises InputError for one that has not."""
    checked = client.checkpoints.wait(sha256)
    if checked.state == REFUSED:
        raise InputError("agents", f"{path}: refused: {checked.reason}")
    return checked


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
