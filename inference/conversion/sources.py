"""Reading the files of other programs: tensors only, never objects that run code."""

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from arena.errors import CheckpointFileError
from inference.conversion.base import Tensors

# Which files of a folder are converted, by program.
SUFFIXES: dict[str, tuple[str, ...]] = {
    "state_dict": (".pt", ".pth", ".bin", ".ckpt", ".safetensors"),
    "sb3": (".zip",),
    "cleanrl": (".cleanrl_model", ".pt", ".pth"),
}
_NESTED = ("model_state_dict", "state_dict", "model")
_PREFIXES = ("module.", "_orig_mod.")
_POLICY = "policy.pth"
_FACTS = "data"


def read_state_dict(path: Path) -> Tensors:
    """Return the tensors of a file of torch.save or safetensors, by the names of its module.

    Finds a state dict inside a checkpoint of a training loop, and takes off what DataParallel and
    torch.compile put before names. Raises CheckpointFileError.
    """
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except SafetensorError as error:
            raise CheckpointFileError(f"safetensors cannot read it: {error}") from None
    with path.open("rb") as file:
        return _strip_prefix(_take_state_dict(_load_file(file)))


def read_sb3(path: Path) -> tuple[Tensors, Mapping[str, Any]]:
    """Return the weights of a Stable-Baselines3 archive, and what it says of itself as text.

    Raises CheckpointFileError.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            if _POLICY not in archive.namelist():
                raise CheckpointFileError(
                    f"no {_POLICY} in the archive: Stable-Baselines3's model.save() writes one"
                )
            weights = io.BytesIO(archive.read(_POLICY))
            text = archive.read(_FACTS) if _FACTS in archive.namelist() else b"{}"
    except zipfile.BadZipFile as error:
        raise CheckpointFileError(f"no Stable-Baselines3 archive: {error}") from None
    try:
        facts = json.loads(text)
    except ValueError:
        raise CheckpointFileError("`data` in the archive is no JSON") from None
    return _take_state_dict(_load_file(weights)), facts if isinstance(facts, dict) else {}


def _load_file(file: BinaryIO | io.BytesIO) -> object:
    try:
        return torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # torch has no common error for what it cannot read
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise CheckpointFileError(
            f"torch.load with weights_only=True refuses it ({reason:.160}): "
            "save model.state_dict() alone, without objects of your own"
        ) from error


def _take_state_dict(loaded: object) -> Tensors:
    """Return the state dict, which training loops keep beside their optimizer."""
    # As deep as there are names, as one may lie in another.
    for _ in _NESTED:
        if isinstance(loaded, dict):
            inner = (loaded[key] for key in _NESTED if isinstance(loaded.get(key), dict))
            loaded = next(inner, loaded)
    if not isinstance(loaded, dict) or not loaded:
        raise CheckpointFileError(f"holds a {type(loaded).__name__}, not a dict of tensors")
    for name, value in loaded.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise CheckpointFileError(
                f"entry {name!r:.60} is no tensor: must be a state dict, "
                f"or hold one under {', '.join(_NESTED)}"
            )
    return dict(loaded)


def _strip_prefix(tensors: Tensors) -> Tensors:
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) for name in tensors):
            return _strip_prefix({name.removeprefix(prefix): t for name, t in tensors.items()})
    return tensors
