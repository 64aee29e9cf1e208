"""Gated recurrent network over the flattened observation; its memory travels with each request."""

from collections.abc import Mapping
from math import sqrt

import torch
from torch import Tensor, nn

from arena.parameters import Parameter
from inference.architectures.base import Heads, accepted, floats, values

_WIDTH = Parameter("width", 128, "units of every layer", 1, 4096)
_LAYERS = Parameter("layers", 1, "recurrent layers", 1, 8)
_GATES = 3


class Cell(nn.Module):
    """nn.GRUCell by its equations and names: the fused one cannot be stacked by vmap everywhere."""

    def __init__(self, width: int) -> None:
        """Draw the weights as nn.GRUCell does."""
        super().__init__()
        bound = 1 / sqrt(width)
        self.weight_ih = nn.Parameter(torch.empty(_GATES * width, width).uniform_(-bound, bound))
        self.weight_hh = nn.Parameter(torch.empty(_GATES * width, width).uniform_(-bound, bound))
        self.bias_ih = nn.Parameter(torch.empty(_GATES * width).uniform_(-bound, bound))
        self.bias_hh = nn.Parameter(torch.empty(_GATES * width).uniform_(-bound, bound))

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Return the state after; all [B, width]."""
        from_input = nn.functional.linear(inputs, self.weight_ih, self.bias_ih).chunk(_GATES, -1)
        from_state = nn.functional.linear(state, self.weight_hh, self.bias_hh).chunk(_GATES, -1)
        reset, update = (
            (from_input[0] + from_state[0]).sigmoid(),
            (from_input[1] + from_state[1]).sigmoid(),
        )
        new = (from_input[2] + reset * from_state[2]).tanh()
        return new + update * (state - new)


class Gru(nn.Module):
    """A linear layer, recurrent layers one on the other, heads on the last."""

    def __init__(self, n_inputs: int, n_actions: int, width: int, n_layers: int) -> None:
        """Take the sizes."""
        super().__init__()
        self.stem = nn.Linear(n_inputs, width)
        self.cells = nn.ModuleList(Cell(width) for _ in range(n_layers))
        self.heads = Heads(width, n_actions)

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the states after, layer by layer in one row."""
        features = self.stem(observations.flatten(1)).relu()
        after = []
        for cell, state in zip(self.cells, states.chunk(len(self.cells), -1), strict=True):
            features = cell(features, state)
            after.append(features)
        return *self.heads(features), torch.cat(after, -1)


class GruArchitecture:
    """Takes any observation; an episode begins with a state of zeros."""

    id = "gru"
    title = "Gated recurrent network"
    parameters = (_WIDTH, _LAYERS)

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:  # noqa: ARG002 - the protocol
        """Return None."""
        return None

    def state_size(self, parameters: Mapping[str, object]) -> int:
        """Return the units of all layers. Raises ParameterError."""
        chosen = values(self, parameters)
        return int(chosen["width"]) * int(chosen["layers"])

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> Gru:
        """Return the module. Raises ParameterError."""
        chosen = accepted(self, observation_shape, parameters)
        width, n_layers = int(chosen["width"]), int(chosen["layers"])
        return Gru(floats(observation_shape), n_actions, width, n_layers)


ARCHITECTURE = GruArchitecture()
