"""The program of the tool `ray`: an order on stdin, learners of RLlib on all nodes, JSON on stdout.

    RAY_ADDRESS=127.0.0.1:6379 PYTHONPATH=. var/tools/ray/bin/python -m training.engines.on_ray

The nodes import `training.engines.rllib_module`: start them with PYTHONPATH at a clone.
"""

import os
import sys
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np
import ray
import torch
from ray.rllib.algorithms.bc import BCConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch

from arena.checkpoints import Seal
from arena.experience.chunks import Chunk
from arena.parameters import Value, read_parameters
from arena.trainers.catalog.bc import TRAINER as BC
from inference.model import fresh, save_sealed
from training.engines.base import LearnOrder, LearnResult, read_chunks
from training.engines.rllib_module import SealedModule
from training.errors import TrainingError

ARCHITECTURE = "mlp"
GRADIENT_NORM = 0.5


class Group:
    """Learners of RLlib, one on each node, that keep the same weights."""

    def __init__(self, order: LearnOrder, values: dict[str, Value]) -> None:
        """values: all parameters of the trainer. The cluster is joined already."""
        self.seal = make_seal(order, str(values["hidden"]))
        self._minibatch = int(values["minibatch"])
        self._rng = np.random.default_rng(order.seed)
        self._n_nodes = sum(node["Alive"] for node in ray.nodes())
        self._group: Any = self._configure_learner(
            order, float(values["learning_rate"])
        ).build_learner_group()

    def learn(self, observations: Any, actions: Any) -> float:
        """Pass once over all steps, in random order; return the loss."""
        order = self._rng.permutation(len(actions))
        # So many that each node has the same number of whole minibatches.
        share = max(1, self._minibatch // self._n_nodes)
        rows = order[: max(1, len(order) // (share * self._n_nodes)) * share * self._n_nodes]
        steps = SampleBatch({Columns.OBS: observations[rows], Columns.ACTIONS: actions[rows]})
        batch = MultiAgentBatch({DEFAULT_MODULE_ID: steps}, env_steps=len(rows))
        results = self._group.update(batch=batch, num_epochs=1, minibatch_size=share)
        losses = [float(result[DEFAULT_MODULE_ID]["policy_loss"].peek()) for result in results]
        return float(np.mean(losses))

    def list_nodes(self) -> list[str]:
        """Return the ids of the nodes that have a learner."""
        node_ids = self._group.foreach_learner(lambda _: ray.get_runtime_context().get_node_id())
        return sorted(str(node_id.get()) for node_id in node_ids)

    def save(self, path: Path) -> str:
        """Write the weights as a sealed checkpoint; return its SHA-256."""
        weights = self._group.get_weights()[DEFAULT_MODULE_ID]
        module = fresh(self.seal, seed=0)
        prefix = "network."
        module.load_state_dict(
            {name.removeprefix(prefix): torch.as_tensor(value) for name, value in weights.items()}
        )
        return save_sealed(module, path, self.seal)

    def _configure_learner(self, order: LearnOrder, rate: float) -> Any:
        n_floats = prod(order.observation_shape)
        described = {
            "architecture": ARCHITECTURE,
            "observation_shape": order.observation_shape,
            "n_actions": order.n_actions,
            "parameters": self.seal.parameters,
            "seed": order.seed,
        }
        config = BCConfig().environment(
            observation_space=gymnasium.spaces.Box(-np.inf, np.inf, (n_floats,), np.float32),
            action_space=gymnasium.spaces.Discrete(order.n_actions),
        )
        config = config.learners(num_learners=self._n_nodes, num_cpus_per_learner=1)
        config = config.training(lr=rate, grad_clip=GRADIENT_NORM, grad_clip_by="global_norm")
        spec = RLModuleSpec(module_class=SealedModule, model_config=described)
        return config.rl_module(rl_module_spec=spec)


def make_seal(order: LearnOrder, hidden: str) -> Seal:
    """Return what the checkpoint will be."""
    parameters: dict[str, Value] = {
        "hidden": hidden, "value_hidden": hidden, "bounded_value": False
    }  # fmt: skip
    shape = tuple(order.observation_shape)
    return Seal(ARCHITECTURE, parameters, order.game, shape, order.n_actions)


def join_steps(chunks: Sequence[Chunk]) -> tuple[Any, Any]:
    """Return observations float32 [T, F] and actions int64 [T]."""
    observations = np.concatenate([chunk.observations for chunk in chunks])
    return observations, np.concatenate([chunk.actions for chunk in chunks]).astype(np.int64)


def learn(order: LearnOrder) -> LearnResult:
    """Return what was learned. Raises TrainingError, ParameterError."""
    if order.algorithm != "bc":
        raise TrainingError(f"ray learns bc, not {order.algorithm}")
    values = read_parameters(order.algorithm, BC.parameters, order.parameters)
    observations, actions = join_steps(read_chunks(order.segments, game=order.game))
    ray.init(address=os.environ["RAY_ADDRESS"], log_to_driver=False)
    group = Group(order, dict(values))
    losses = [group.learn(observations, actions) for _ in range(order.passes)]
    sha256 = group.save(Path(order.target))
    return LearnResult(sha256, len(actions) * order.passes, losses[-1], group.list_nodes())


def main() -> None:
    """Do one order."""
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=LearnOrder)
    learned = learn(order)
    sys.stdout.buffer.write(b"\n" + msgspec.json.encode(learned) + b"\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
