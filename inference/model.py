"""Checkpoints as networks: built from their seal, filled from their file, never unpickled."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from arena.checkpoints import Seal, check_seal, inspect_file, write_sealed
from arena.errors import ArenaError, CatalogError, CheckpointFileError, UnknownNameError
from arena.parameters import Value
from inference.architectures import registry
from inference.architectures.base import values

# 200 MB in float32: a check may take 512 MiB, of which torch itself takes 220.
MAX_PARAMETERS = 50_000_000
_WEIGHTS = ("F32", "F16", "BF16")
_SHOWN = 4
_PIECE = 2**20


@dataclass(frozen=True)
class Model:
    """A network ready to answer: in eval mode, without gradients, on its device.

    n_bytes: what its weights take there, in bytes; state_size: floats of recurrent state per row;
    parameters: all that its architecture declares, defaults included, so that two networks of one
    form have equal ones however their seals spell them.
    """

    module: nn.Module
    seal: Seal
    n_parameters: int
    n_bytes: int
    state_size: int
    parameters: Mapping[str, Value]


def load(
    path: Path, *, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Model:
    """Return the network of a sealed checkpoint, its weights converted to dtype.

    Names and shapes are compared with the architecture before a weight is read. Raises
    CheckpointFileError for a file that is not sealed or does not fit, and for weights not finite.
    """
    contents = inspect_file(path)
    if contents.seal is None:
        raise CheckpointFileError("the file is not sealed: it does not name its architecture")
    module = skeleton(contents.seal)
    compare({name: spec.shape for name, spec in contents.tensors.items()}, module)
    for name, spec in contents.tensors.items():
        if spec.dtype not in _WEIGHTS:
            rule = f"weights must be {', '.join(_WEIGHTS)}"
            raise CheckpointFileError(f"{name} is {spec.dtype}: {rule}")
    # Into memory of our own, not mapped: the file may go or change.
    with safe_open(path, framework="pt", backend="pread") as file:
        weights = {n: _read_weight(n, file.get_tensor(n), device, dtype) for n in contents.tensors}
    module.load_state_dict(weights, assign=True)
    return _make_ready(module, contents.seal)


def fresh(seal: Seal, *, seed: int) -> nn.Module:
    """Return a new network on the CPU, in train mode; its weights follow from the seed alone.

    Raises CheckpointFileError where the seal names nothing that can be built.
    """
    skeleton(seal)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return _build_module(seal)


def save_sealed(module: nn.Module, path: Path, seal: Seal) -> str:
    """Write the weights as a checkpoint; return its SHA-256, the name of the checkpoint.

    Raises CheckpointFileError where the seal does not describe the module.
    """
    tensors = {
        name: value.detach().cpu().contiguous() for name, value in _read_state(module).items()
    }
    compare({name: tuple(value.shape) for name, value in tensors.items()}, skeleton(seal))
    with TemporaryDirectory(dir=path.parent, prefix=".saving-") as folder:
        plain = Path(folder) / "plain.safetensors"
        # Cloned, because safetensors refuses tensors that share memory.
        save_file({name: value.clone() for name, value in tensors.items()}, plain)
        return write_sealed(plain, path, seal)


def skeleton(seal: Seal) -> nn.Module:
    """Return the network without storage for its weights (meta device).

    Raises CheckpointFileError where the seal names nothing that can be built, or too much.
    """
    check_seal(seal)
    with torch.device("meta"):
        module = _build_module(seal)
    n_parameters = sum(value.numel() for value in _read_state(module).values())
    if n_parameters > MAX_PARAMETERS:
        raise CheckpointFileError(
            f"{seal.architecture} with these parameters has {n_parameters} weights: "
            f"at most {MAX_PARAMETERS} are taken"
        )
    return module


def compare(shapes: Mapping[str, tuple[int, ...]], module: nn.Module) -> None:
    """Raise CheckpointFileError unless names and shapes match the module's weights."""
    expected = {name: tuple(value.shape) for name, value in _read_state(module).items()}
    differing = [
        f"{name} is {list(shapes[name])}, not {list(shape)}"
        for name, shape in expected.items()
        if name in shapes and shapes[name] != shape
    ]
    faults = [
        _list_names("missing", [f"{n} {list(s)}" for n, s in expected.items() if n not in shapes]),
        _list_names(
            "unexpected", [f"{n:.100} {list(s)}" for n, s in shapes.items() if n not in expected]
        ),
        _list_names("of another shape", differing),
    ]
    if any(faults):
        raise CheckpointFileError(
            f"the tensors do not fit the architecture: {'; '.join(filter(None, faults))}"
        )


class UnknownArchitectureError(CheckpointFileError):
    """Nothing here builds what a seal names: the file may be good elsewhere."""


def _build_module(seal: Seal) -> nn.Module:
    try:
        architecture = registry.get(seal.architecture)
    except (UnknownNameError, CatalogError) as error:
        raise UnknownArchitectureError(f"no network can be built: {error}") from error
    try:
        return architecture.build(seal.observation_shape, seal.n_actions, seal.parameters)
    except ArenaError as error:
        raise CheckpointFileError(f"no network can be built: {error}") from error


def _read_state(module: nn.Module) -> dict[str, Tensor]:
    state: dict[str, Tensor] = module.state_dict()
    return state


def _list_names(heading: str, names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{heading}: {', '.join(names[:_SHOWN])}{more}" if names else ""


def _read_weight(
    name: str, stored: Tensor, device: torch.device | str, dtype: torch.dtype
) -> Tensor:
    if not is_finite(stored):
        problem = "NaN" if bool(torch.isnan(stored).any()) else "infinity"
        raise CheckpointFileError(f"the weights of {name!r} hold {problem}")
    weight = stored.to(device=device, dtype=dtype)
    if dtype != stored.dtype and not is_finite(weight):
        raise CheckpointFileError(f"the weights of {name!r} do not fit {dtype}")
    return weight


def is_finite(weight: Tensor) -> bool:
    """Return True if every element is finite; looks at pieces, so as to need little memory."""
    return all(bool(torch.isfinite(piece).all()) for piece in torch.split(weight.flatten(), _PIECE))


def _make_ready(module: nn.Module, seal: Seal) -> Model:
    homeless = [name for name, value in module.named_buffers() if value.is_meta]
    if homeless:
        raise CheckpointFileError(
            f"{seal.architecture} keeps {homeless[0]} outside its weights: make it persistent"
        )
    state, architecture = _read_state(module), registry.get(seal.architecture)
    return Model(
        module.eval().requires_grad_(False),
        seal,
        sum(value.numel() for value in state.values()),
        sum(value.numel() * value.element_size() for value in state.values()),
        architecture.state_size(seal.parameters),
        values(architecture, seal.parameters),
    )
