"""The smallest network: every logit and the value are sums of the observation."""

from collections.abc import Mapping

from torch import Tensor, nn

from arena.parameters import Parameter
from inference.architectures.base import Heads, accepted, floats


class Linear(nn.Module):
    """Both heads on the flattened observation."""

    def __init__(self, n_inputs: int, n_actions: int) -> None:
        super().__init__()
        self.heads = Heads(n_inputs, n_actions)

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the (empty) states."""
        return *self.heads(observations.flatten(1)), states


class LinearArchitecture:
    """Takes any observation."""

    id = "linear"  # the name of this file
    title = "Linear"
    parameters: tuple[Parameter, ...] = ()

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:
        """Return None."""
        del observation_shape
        return None

    def state_size(self, parameters: Mapping[str, object]) -> int:
        """Return 0: it remembers nothing."""
        del parameters
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> Linear:
        """Return the module. Raises ParameterError."""
        accepted(self, observation_shape, parameters)
        return Linear(floats(observation_shape), n_actions)


ARCHITECTURE = LinearArchitecture()
