"""The networks that runs publish, in numpy: layers, then logits of the actions and a value."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np

from evalsite_client.errors import AnswerError
from evalsite_client.experience.weights import Floats, Weights

FORMAT: Final = "evalsite/1"
ARCHITECTURE: Final = "mlp"
SHARED: Final = "shared"
# A file names only the parameters that were given: these are never changed.
DEFAULTS: Final[Mapping[str, Any]] = {
    "hidden": "256,256",
    "value_hidden": SHARED,
    "activation": "relu",
    "bounded_value": True,
}


class Layer(NamedTuple):
    """A linear layer: weight float32 [out, in], bias float32 [out]."""

    weight: Floats
    bias: Floats

    def apply(self, rows: Floats) -> Floats:
        """Return [B, out] of rows [B, in]."""
        outputs: Floats = rows @ self.weight.T + self.bias
        return outputs


def _apply_relu(rows: Floats) -> Floats:
    positive: Floats = np.maximum(rows, np.float32(0))
    return positive


def _apply_tanh(rows: Floats) -> Floats:
    bounded: Floats = np.tanh(rows)
    return bounded


ACTIVATIONS: Final[Mapping[str, Callable[[Floats], Floats]]] = {
    "relu": _apply_relu,
    "tanh": _apply_tanh,
}


@dataclass(frozen=True)
class Mlp:
    """Hidden layers and linear heads; value_body is None where the value shares the layers."""

    body: Sequence[Layer]
    value_body: Sequence[Layer] | None
    policy: Layer
    value: Layer
    activate: Callable[[Floats], Floats]
    is_bounded: bool

    def compute_logits(self, observations: Floats) -> Floats:
        """Return logits float32 [B, A] of observations float32 [B, F]."""
        return self.policy.apply(self._run_layers(self.body, observations))

    def compute_values(self, observations: Floats) -> Floats:
        """Return values float32 [B] of observations float32 [B, F]."""
        body = self.body if self.value_body is None else self.value_body
        values: Floats = self.value.apply(self._run_layers(body, observations))[:, 0]
        return np.tanh(values) if self.is_bounded else values

    def _run_layers(self, layers: Sequence[Layer], rows: Floats) -> Floats:
        for layer in layers:
            rows = self.activate(layer.apply(rows))
        return rows


def build_policy(
    weights: Weights, *, game: str, observation_shape: tuple[int, ...], n_actions: int
) -> Mlp:
    """Return the network of a sealed file. Raises AnswerError unless it plays this game."""
    seal = weights.metadata
    expected = {
        "format": FORMAT,
        "architecture": ARCHITECTURE,
        "game": game,
        "observation_shape": json.dumps(observation_shape, separators=(",", ":")),
        "n_actions": str(n_actions),
    }
    for name, text in expected.items():
        if seal.get(name) != text:
            raise AnswerError(f"the weights have {name} {seal.get(name)!r:.60}, not {text!r}")
    parameters = _read_parameters(seal.get("parameters", ""))
    tensors = dict(weights.tensors)
    hidden = _read_sizes(str(parameters["hidden"]))
    body = _take_layers(tensors, "body", [prod(observation_shape), *hidden])
    value_hidden, value_body = hidden, None
    if parameters["value_hidden"] != SHARED:
        value_hidden = _read_sizes(str(parameters["value_hidden"]))
        value_body = _take_layers(tensors, "value_body", [prod(observation_shape), *value_hidden])
    n_features = [prod(observation_shape), *hidden][-1]
    n_value_features = [prod(observation_shape), *value_hidden][-1]
    policy = _take_layer(tensors, "policy", n_features, n_actions)
    value = _take_layer(tensors, "value", n_value_features, 1)
    if tensors:
        raise AnswerError(
            f"the weights have more than {ARCHITECTURE} has: {sorted(tensors)!s:.200}"
        )
    activate = ACTIVATIONS[parameters["activation"]]
    return Mlp(body, value_body, policy, value, activate, is_bounded=parameters["bounded_value"])


def compute_log_probs(logits: Floats) -> Floats:
    """Return the log-probabilities of logits float32 [..., A], each at most 0."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    log_probs: Floats = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return log_probs


def _read_parameters(text: str) -> dict[str, Any]:
    try:
        named = json.loads(text)
    except ValueError as error:
        raise AnswerError(f"the weights' parameters are no JSON: {text!r:.80}") from error
    parameters = {**DEFAULTS, **named} if isinstance(named, dict) else {}
    is_right = (
        parameters.keys() == DEFAULTS.keys()
        and parameters["activation"] in ACTIVATIONS
        and isinstance(parameters["bounded_value"], bool)
    )
    if not is_right:
        raise AnswerError(f"the weights have parameters that {ARCHITECTURE} has not: {text!r:.200}")
    return parameters


def _read_sizes(text: str) -> list[int]:
    words = text.split(",") if text else []
    if not all(word.isascii() and word.isdecimal() and 0 < len(word) <= 4 for word in words):  # noqa: PLR2004
        raise AnswerError(f"the weights have hidden layers of sizes {text!r:.60}")
    return [int(word) for word in words]


def _take_layers(tensors: dict[str, Floats], name: str, sizes: Sequence[int]) -> list[Layer]:
    # Every second one is an activation, which has no weights.
    return [
        _take_layer(tensors, f"{name}.{2 * index}", n_inputs, n_outputs)
        for index, (n_inputs, n_outputs) in enumerate(pairwise(sizes))
    ]


def _take_layer(tensors: dict[str, Floats], name: str, n_inputs: int, n_outputs: int) -> Layer:
    weight, bias = (tensors.pop(f"{name}.{part}", None) for part in ("weight", "bias"))
    if weight is None or bias is None:
        raise AnswerError(f"the weights lack the layer {name}")
    if weight.shape != (n_outputs, n_inputs) or bias.shape != (n_outputs,):
        raise AnswerError(f"the weights of {name} are {weight.shape}, not {(n_outputs, n_inputs)}")
    return Layer(weight, bias)
