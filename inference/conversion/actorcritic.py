"""Actors and critics of linear layers, as Stable-Baselines3 and CleanRL write them, on our mlp.

The mlp can be exactly such a network: layers of their own for the value, tanh or relu, a linear
value. Whatever else these libraries write is refused with what it would need.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import linear

from arena.errors import CheckpointFileError
from arena.parameters import Value
from inference.conversion.base import Converted, Tensors

Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Activation] = {"tanh": torch.tanh, "relu": torch.relu}
# Dimensions of them.
_IMAGE, _MATRIX = 3, 2
_OWN = (
    "write it as an architecture of your own (EVALSITE_PLUGINS), save its state_dict() alone "
    "and convert --from state_dict"
)
_DQN = "q_net.q_net.0.weight"
NO_VALUE = "it has no value head: its value is 0 everywhere"
_SB3_OTHERS = {
    "q_net.features_extractor.": f"its features extractor is a network (CnnPolicy): {_OWN}",
    "features_extractor.": f"its features extractor is a network (CnnPolicy): {_OWN}",
    "pi_features_extractor.": f"its features extractor is a network (CnnPolicy): {_OWN}",
    "lstm_actor.": f"RecurrentPPO keeps an LSTM: {_OWN}",
    "log_std": "its actions are continuous; games here have numbered actions",
    "actor.": "its actions are continuous (SAC, TD3); games here have numbered actions",
}
_CLEANRL_OTHERS = {
    "network.": f"its layers are shared (ppo_atari): {_OWN}",
    "actor_mean.": "its actions are continuous; games here have numbered actions",
    "actor_logstd": "its actions are continuous; games here have numbered actions",
    "lstm.": f"it keeps an LSTM: {_OWN}",
}


class Layer(NamedTuple):
    """One linear layer: weight [O, I] and bias [O]."""

    weight: Tensor
    bias: Tensor


class ActorCritic(NamedTuple):
    """All linear layers in order; every one but the last of actor and critic has an activation."""

    actor: list[Layer]
    critic: list[Layer]
    activation: str


def sb3(tensors: Tensors, facts: Mapping[str, Any], options: Mapping[str, Value]) -> Converted:
    """Return an MlpPolicy of PPO, A2C or DQN as an mlp. Raises CheckpointFileError for any other.

    Layers that actor and critic share are written into both: the function is the same.
    """
    _refuse_others(tensors, _SB3_OTHERS)
    _check_spaces(facts)
    if _DQN in tensors:
        return _convert_dqn(tensors, facts, options)
    shared = _read_tower(tensors, "mlp_extractor.shared_net.")
    actor = [
        *shared,
        *_read_tower(tensors, "mlp_extractor.policy_net."),
        _read_layer(tensors, "action_net"),
    ]
    critic = [
        *shared,
        *_read_tower(tensors, "mlp_extractor.value_net."),
        _read_layer(tensors, "value_net"),
    ]
    _check_all_used(tensors, 2 * (len(actor) + len(critic) - len(shared)))
    activation = _read_sb3_activation(facts, options, "Tanh")
    sizes = f"layers {_list_layer_sizes(actor)}; value {_list_layer_sizes(critic)}"
    notes = [
        f"activation {activation}, {sizes}",
        "statistics of VecNormalize are in a file of their own and are not converted",
    ]
    return _convert_layers(ActorCritic(actor, critic, activation), options, notes)


def cleanrl(tensors: Tensors, options: Mapping[str, Value]) -> Converted:
    """Return the agent of ppo.py or the Q-network of dqn.py as an mlp.

    The critic may be missing. Raises CheckpointFileError for anything else.
    """
    is_dqn = "actor.0.weight" not in tensors and _is_linear(tensors.get("network.0.weight"))
    if not is_dqn:
        _refuse_others(tensors, _CLEANRL_OTHERS)
    actor = _read_tower(tensors, "network." if is_dqn else "actor.")
    critic = _read_tower(tensors, "critic.")
    if not actor:
        raise CheckpointFileError("no actor.0.weight: not the agent of ppo.py, nor that of dqn.py")
    _check_all_used(tensors, 2 * (len(actor) + len(critic)))
    program, usual = ("dqn.py", "relu") if is_dqn else ("ppo.py", "tanh")
    activation = str(options.get("activation", usual))
    source = "as told" if "activation" in options else f"as in {program}: the file does not say"
    notes = [f"{activation}, {source}", *([] if critic else [NO_VALUE])]
    network = ActorCritic(actor, critic or [_make_silent(actor)], activation)
    return _convert_layers(network, options, notes)


def _convert_dqn(
    tensors: Tensors, facts: Mapping[str, Any], options: Mapping[str, Value]
) -> Converted:
    """Return the Q-network; the target network beside it was only for training."""
    layers = _read_tower(tensors, "q_net.q_net.")
    _check_all_used(tensors, 4 * len(layers))
    activation = _read_sb3_activation(facts, options, "ReLU")
    network = ActorCritic(layers, [_make_silent(layers)], activation)
    return _convert_layers(network, options, [f"activation {activation}", NO_VALUE])


def _make_silent(layers: Sequence[Layer]) -> Layer:
    """Return a value head of zeros for a network that has none."""
    weight = layers[0].weight
    return Layer(weight.new_zeros((1, weight.shape[1])), weight.new_zeros(1))


def _is_linear(weight: Tensor | None) -> bool:
    return weight is not None and weight.dim() == _MATRIX


def _convert_layers(
    network: ActorCritic, options: Mapping[str, Value], notes: list[str]
) -> Converted:
    parameters: dict[str, Value] = {
        "hidden": _list_layer_sizes(network.actor),
        "value_hidden": _list_layer_sizes(network.critic),
        "activation": network.activation,
        "bounded_value": False,
    }
    for name, value in options.items():
        if parameters.get(name) != value:
            raise CheckpointFileError(
                f"--parameter {name}={value}: the file says {parameters.get(name)}"
            )
    tensors = {
        **_name_tensors("body", network.actor[:-1]),
        **_name_tensors("value_body", network.critic[:-1]),
        "policy.weight": network.actor[-1].weight,
        "policy.bias": network.actor[-1].bias,
        "value.weight": network.critic[-1].weight,
        "value.bias": network.critic[-1].bias,
    }
    return Converted(tensors, parameters, partial(_run_layers, network), notes)


def _run_layers(network: ActorCritic, observations: Tensor) -> tuple[Tensor, Tensor]:
    """Return logits and values by plain operations on what the file holds.

    In float64 where the file has it, else float32.
    """
    activation, answers = ACTIVATIONS[network.activation], list[Tensor]()
    for layers in (network.actor, network.critic):
        exact = torch.promote_types(layers[0].weight.dtype, torch.float32)
        rows = observations.flatten(1).to(exact)
        for place, (weight, bias) in enumerate(layers):
            rows = linear(activation(rows) if place else rows, weight.to(exact), bias.to(exact))
        answers.append(rows)
    return answers[0], answers[1].squeeze(-1)


def _refuse_others(tensors: Tensors, others: Mapping[str, str]) -> None:
    for start, reason in others.items():
        name = next((name for name in tensors if name.startswith(start)), None)
        if name is not None:
            raise CheckpointFileError(f"no mlp ({name}): {reason}")


def _read_tower(tensors: Tensors, prefix: str) -> list[Layer]:
    """Return the linear layers of a Sequential, in its order."""
    ends = (name.removeprefix(prefix).split(".") for name in tensors if name.startswith(prefix))
    places = sorted({int(place) for place, *_ in ends if place.isdecimal()})
    return [_read_layer(tensors, f"{prefix}{place}") for place in places]


def _read_layer(tensors: Tensors, name: str) -> Layer:
    weight, bias = tensors.get(f"{name}.weight"), tensors.get(f"{name}.bias")
    if weight is None or bias is None or weight.dim() != _MATRIX or bias.shape != weight.shape[:1]:
        raise CheckpointFileError(f"{name} is no linear layer with a bias")
    return Layer(weight, bias)


def _check_all_used(tensors: Tensors, n_used: int) -> None:
    if len(tensors) != n_used:
        names = ", ".join(list(tensors)[:10])
        raise CheckpointFileError(f"{len(tensors) - n_used} tensors too many for an mlp: {names}")


def _name_tensors(prefix: str, layers: Sequence[Layer]) -> Tensors:
    """Return the tensors of hidden layers; an activation stands after each."""
    return {
        f"{prefix}.{2 * place}.{leaf}": tensor
        for place, layer in enumerate(layers)
        for leaf, tensor in layer._asdict().items()
    }


def _list_layer_sizes(layers: Sequence[Layer]) -> str:
    return ",".join(str(layer.bias.shape[0]) for layer in layers[:-1])


def _check_spaces(facts: Mapping[str, Any]) -> None:
    """Refuse what Stable-Baselines3 does to observations and actions around the network."""
    observation_space, action_space = facts.get("observation_space"), facts.get("action_space")
    if isinstance(observation_space, dict):
        kind = str(observation_space.get(":type:"))
        if not kind.endswith(".Box'>"):
            raise CheckpointFileError(f"trained on {kind}, which is encoded first: must be a Box")
        if (
            observation_space.get("dtype") == "uint8"
            and len(observation_space.get("_shape") or ()) == _IMAGE
        ):
            raise CheckpointFileError("trained on images of uint8, which are divided by 255 first")
    if isinstance(action_space, dict):
        kind, start = str(action_space.get(":type:")), str(action_space.get("start", 0))
        if not kind.endswith(".Discrete'>") or start != "0":
            raise CheckpointFileError(
                f"its actions are {kind} from {start}: must be Discrete from 0"
            )


def _read_sb3_activation(facts: Mapping[str, Any], options: Mapping[str, Value], usual: str) -> str:
    """Return what the archive says in text of its activation; usual: the library's default."""
    chosen = facts.get("policy_kwargs")
    if not isinstance(chosen, dict):
        if "activation" in options:
            return str(options["activation"])
        raise CheckpointFileError(
            "the archive does not say which activation: add --parameter activation=tanh or relu"
        )
    activation = str(chosen.get("activation_fn", usual)).rstrip("'>").rpartition(".")[2].lower()
    if activation not in ACTIVATIONS:
        raise CheckpointFileError(
            f"activation {activation}: mlp has {' and '.join(ACTIVATIONS)}. {_OWN}"
        )
    return activation
