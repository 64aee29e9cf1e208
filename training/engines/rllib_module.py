"""Our networks as modules of RLlib, which is installed in the tool `ray` only."""

from typing import Any

import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule

from inference.architectures import registry


class SealedModule(TorchRLModule):
    """An architecture of the catalog; model_config: its id, shape, actions, parameters, seed."""

    def setup(self) -> None:
        """Draw the weights from the seed, the same on each node."""
        chosen: Any = self.model_config
        architecture = registry.get(chosen["architecture"])
        torch.manual_seed(chosen["seed"])
        self.network = architecture.build(
            tuple(chosen["observation_shape"]), chosen["n_actions"], chosen["parameters"]
        )
        self._shape = tuple(chosen["observation_shape"])

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Any]:
        observations = batch[Columns.OBS]
        shaped = observations.view(len(observations), *self._shape)
        logits, values, _ = self.network(shaped, observations.new_empty(len(observations), 0))
        # Between nodes every weight must be part of the loss, also those of the value.
        return {Columns.ACTION_DIST_INPUTS: logits + 0.0 * values[:, None]}

    def get_train_action_dist_cls(self) -> Any:
        """Return the distribution of the actions."""
        return TorchCategorical

    get_inference_action_dist_cls = get_train_action_dist_cls
    get_exploration_action_dist_cls = get_train_action_dist_cls
