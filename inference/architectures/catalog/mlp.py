"""Multi-layer perceptron over the flattened observation."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from torch import Tensor, nn

from arena.errors import ParameterError
from arena.parameters import Parameter, read_sizes
from inference.architectures.base import accepted, floats

SHARED = "shared"
_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}
_HIDDEN = Parameter(
    "hidden", "256,256", "sizes of the hidden layers, such as 64,64; may be empty", is_sizes=True
)
_VALUE_HIDDEN = Parameter(
    "value_hidden",
    SHARED,
    f"{SHARED}: the value is read from the layers of the policy; else sizes of its own layers",
    is_sizes=True,
)
_ACTIVATION = Parameter("activation", "relu", "after each hidden layer: relu or tanh")
_BOUNDED = Parameter("bounded_value", True, "tanh keeps the value in -1..1; false leaves it linear")


class Mlp(nn.Module):
    """Hidden layers, then linear heads; the value may have layers of its own."""

    def __init__(
        self,
        n_inputs: int,
        n_actions: int,
        hidden: Sequence[int],
        value_hidden: Sequence[int] | None,
        activation: type[nn.Module],
        *,
        is_bounded: bool,
    ) -> None:
        """Take the sizes of the layers; value_hidden None shares those of the policy."""
        super().__init__()
        self.body = layers([n_inputs, *hidden], activation)
        self.value_body = None
        if value_hidden is not None:
            self.value_body = layers([n_inputs, *value_hidden], activation)
        self.policy = nn.Linear([n_inputs, *hidden][-1], n_actions)
        value_sizes = hidden if value_hidden is None else value_hidden
        self.value = nn.Linear([n_inputs, *value_sizes][-1], 1)
        self._is_bounded = is_bounded

    def forward(self, observations: Tensor, states: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return logits, values and the (empty) states."""
        flat = observations.flatten(1)
        features = self.body(flat)
        value_features = features if self.value_body is None else self.value_body(flat)
        values = self.value(value_features).squeeze(-1)
        return self.policy(features), values.tanh() if self._is_bounded else values, states


def layers(sizes: Sequence[int], activation: type[nn.Module]) -> nn.Sequential:
    """Return linear layers between these sizes, each followed by the activation."""
    return nn.Sequential(
        *(step for i, o in pairwise(sizes) for step in (nn.Linear(i, o), activation()))
    )


class MlpArchitecture:
    """Takes any observation."""

    id = "mlp"
    title = "Multi-layer perceptron"
    parameters = (_HIDDEN, _VALUE_HIDDEN, _ACTIVATION, _BOUNDED)

    def refusal(self, observation_shape: tuple[int, ...]) -> str | None:  # noqa: ARG002 - the protocol
        """Return None."""
        return None

    def state_size(self, parameters: Mapping[str, object]) -> int:  # noqa: ARG002 - the protocol
        """Return 0."""
        return 0

    def build(
        self, observation_shape: tuple[int, ...], n_actions: int, parameters: Mapping[str, object]
    ) -> Mlp:
        """Return the module. Raises ParameterError."""
        chosen = accepted(self, observation_shape, parameters)
        value_hidden, activation = str(chosen["value_hidden"]), str(chosen["activation"])
        if activation not in _ACTIVATIONS:
            raise ParameterError(self.id, "activation", f"must be relu or tanh, got {activation!r}")
        return Mlp(
            floats(observation_shape),
            n_actions,
            read_sizes(self.id, _HIDDEN.name, str(chosen["hidden"])),
            None
            if value_hidden == SHARED
            else read_sizes(self.id, _VALUE_HIDDEN.name, value_hidden),
            _ACTIVATIONS[activation],
            is_bounded=bool(chosen["bounded_value"]),
        )


ARCHITECTURE = MlpArchitecture()
