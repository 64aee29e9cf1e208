"""The whole state of a run as one file: safetensors, so that nothing is ever unpickled."""

import json
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim import Optimizer

from training.episodes import MOST_OPEN
from training.errors import StateError

_COUNTS = "counts"
_MOMENTS = ("exp_avg", "exp_avg_sq", "step")
_Name = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
_Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a state is no tensor; place: of the last chunk that is in it."""

    algorithm: str
    n_updates: _Count
    n_steps: _Count
    place: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,20}-[0-9]{1,20}$")]
    # Rewards so far of the episodes under way.
    under_way: Annotated[dict[_Name, float], msgspec.Meta(max_length=MOST_OPEN)] = {}


def write_state(
    module: nn.Module,
    optimiser: Optimizer,
    generator: torch.Generator,
    counts: Counts,
) -> bytes:
    """Return weights, moments of the optimiser, random generator and counts."""
    tensors = {f"module.{name}": tensor for name, tensor in module.state_dict().items()}
    for number, moments in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": value for name, value in moments.items()}
    tensors["generator"] = generator.get_state()
    # Safetensors takes no views: each tensor has memory of its own.
    whole = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    return save(whole, {_COUNTS: msgspec.json.encode(counts).decode()})


def read_state(
    state: bytes,
    module: nn.Module,
    optimiser: Optimizer,
    generator: torch.Generator,
    *,
    algorithm: str,
) -> Counts:
    """Load a state into all parts; return its counts. Raises StateError before any is changed."""
    try:
        tensors = load(state)
        # Eight bytes of length, then the header; safetensors' own reader has checked both.
        header: dict[str, Any] = json.loads(state[8 : 8 + int.from_bytes(state[:8], "little")])
        counts = msgspec.json.decode(header["__metadata__"][_COUNTS], type=Counts)
        if counts.algorithm != algorithm:
            raise ValueError(f"it is of {counts.algorithm}, the run is of {algorithm}")
        _check_tensors(tensors, module, generator)
        torch.Generator().set_state(tensors["generator"])
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise StateError(f"the file is no state of this run: {error}") from error
    module.load_state_dict(_pick_tensors(tensors, "module."))
    optimiser.load_state_dict(_group_moments(optimiser, _pick_tensors(tensors, "optimiser.")))
    generator.set_state(tensors["generator"])
    return counts


def _check_tensors(
    tensors: Mapping[str, Tensor], module: nn.Module, generator: torch.Generator
) -> None:
    """Raise ValueError unless all are there, of the right form and with values that can be."""
    expected = {f"module.{name}": tensor for name, tensor in module.state_dict().items()}
    # Before its first step the optimiser has no moments.
    if _pick_tensors(tensors, "optimiser."):
        for number, weights in enumerate(module.parameters()):
            for name in _MOMENTS:
                form = torch.zeros(()) if name == "step" else weights
                expected[f"optimiser.{number}.{name}"] = form
    expected["generator"] = generator.get_state()
    if tensors.keys() != expected.keys():
        odd = sorted(tensors.keys() ^ expected.keys())
        raise ValueError(f"it lacks or has too much: {', '.join(odd[:3])}")
    for name, tensor in tensors.items():
        form = expected[name]
        if (tensor.shape, tensor.dtype) != (form.shape, form.dtype):
            raise ValueError(f"{name} is {tensor.dtype} of shape {list(tensor.shape)}")
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{name} is not finite")
        if name.endswith((".exp_avg_sq", ".step")) and (tensor < 0).any():
            raise ValueError(f"{name} is negative")


def _pick_tensors(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _group_moments(optimiser: Optimizer, moments: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return moments named `number.name` as the optimiser's own state."""
    grouped: dict[int, dict[str, Tensor]] = {}
    for name, tensor in moments.items():
        number, _, moment = name.partition(".")
        grouped.setdefault(int(number), {})[moment] = tensor
    return {**optimiser.state_dict(), "state": grouped}
