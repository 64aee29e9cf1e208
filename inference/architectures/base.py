"""What every architecture offers, and the layers that several of them share.

A module's forward takes observations float32 [B, *shape] and states float32 [B, S] and returns
logits [B, A], values [B] and the states after [B, S]. It must work under torch.func.vmap with
stacked weights: pure operations, nothing in place, no branch on what the tensors hold, and no row
may touch another (so no batch norm). Weights live in parameters or persistent buffers only.

A stored checkpoint names only the parameters it was given, so a default is a promise: never change
one, add a parameter whose default keeps what was.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Protocol

from torch import Tensor, nn

from arena.errors import ParameterError
from arena.parameters import Parameter, Value, read_parameters


class Architecture(Protocol):
    """A family of networks under declared parameters."""

    @property
    def id(self) -> str:
        """The name of its file."""
        ...

    @property
    def title(self) -> str:
        """What people read."""
        ...

    @property
    def parameters(self) -> Sequence[Parameter]:
        """What can be chosen, with ranges that bound what is built."""
        ...

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        """Return why observations of this shape cannot be taken, or None."""
        ...

    def state_size(self, parameters: Mapping[str, object]) -> int:
        """Return the floats of recurrent state per row, 0 when feed-forward."""
        ...

    def build(
        self,
        observation_shape: tuple[int, ...],
        n_actions: int,
        parameters: Mapping[str, object],
    ) -> nn.Module:
        """Return a new module, its weights drawn with torch's global generator.

        Raises ParameterError, also for a shape that `refusal` names.
        """
        ...


def accepted(
    architecture: Architecture,
    observation_shape: tuple[int, ...],
    parameters: Mapping[str, object],
) -> dict[str, Value]:
    """Return all parameters with their values. Raises ParameterError, for a refused shape too."""
    reason = architecture.refusal(observation_shape)
    if reason is not None:
        raise ParameterError(architecture.id, "observation_shape", reason)
    return values(architecture, parameters)


def values(architecture: Architecture, parameters: Mapping[str, object]) -> dict[str, Value]:
    """Return all parameters with their values. Raises ParameterError.

    A whole number stands for its text where a text is declared: hidden=64 on a command line.
    """
    texts = {p.name for p in architecture.parameters if isinstance(p.default, str)}
    # `type is int`: a bool is no whole number here.
    worded = {
        name: str(value) if name in texts and type(value) is int else value
        for name, value in parameters.items()
    }
    return read_parameters(architecture.id, architecture.parameters, worded)


def floats(observation_shape: tuple[int, ...]) -> int:
    """Return how many floats one observation has."""
    return prod(observation_shape)


class Heads(nn.Module):
    """Policy and value read from features [B, F]: logits [B, A], values [B] in -1..1."""

    def __init__(self, width: int, n_actions: int) -> None:
        """Make both heads linear in the features."""
        super().__init__()
        self.policy = nn.Linear(width, n_actions)
        self.value = nn.Linear(width, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits [B, A] and values [B]."""
        return self.policy(features), self.value(features).squeeze(-1).tanh()
