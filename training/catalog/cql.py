"""Discrete CQL: Q-learning that values what the records never did no higher than what they did.

Source: Kumar et al. 2020, "Conservative Q-Learning for offline reinforcement learning", equation 4
(CQL(H)) for discrete actions; its targets are those of double Q-learning (van Hasselt et al. 2016).
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from arena.experience.chunks import Chunk
from arena.parameters import Value, read_parameters
from arena.trainers.catalog.cql import TRAINER as SPEC
from training.base import Metrics, Task
from training.policies import TrainedPolicy, separate_values
from training.records import ILLEGAL, Records, read_chunks


class _Settings(NamedTuple):
    hidden: str
    learning_rate: float
    minibatch: int
    discount: float
    conservatism: float
    reward_scale: float


class ConservativeQ(TrainedPolicy):
    """Logits that are values of actions: the greedy policy takes the best.

    The targets of a call are those of the network as it was at its begin: so a state is the network
    alone. The value of its own layers is not trained.
    """

    def __init__(self, task: Task, settings: _Settings, *, seed: int) -> None:
        """Draw the weights from the seed. Raises ParameterError."""
        network = separate_values(settings.hidden)
        super().__init__(task, network, algorithm="cql", rate=settings.learning_rate, seed=seed)
        self._settings = settings

    @property
    def version(self) -> int:
        """How often records have changed the policy."""
        return self.n_updates

    def learn(self, chunks: Sequence[Chunk]) -> Metrics:
        """Pass once over all steps."""
        return self.learn_records(read_chunks(chunks, n_actions=self.task.n_actions))

    def learn_records(self, records: Records) -> Metrics:
        """Pass once over all steps."""
        losses, gaps = [], []
        n_skipped, target = self.n_skipped, deepcopy(self.module)
        for rows, n_steps in self.draw_minibatches(len(records), self._settings.minibatch):
            error, gap = self._measure_losses(records.take(rows), target)
            loss = (error + self._settings.conservatism * gap) / n_steps
            if self.take_step(loss):
                losses.append(float(error.detach()) / n_steps)
                gaps.append(float(gap.detach()) / n_steps)
        self.n_updates += 1
        self.n_steps += len(records)
        return {
            "n_used": float(len(records)),
            "n_skipped": float(self.n_skipped - n_skipped),
            **({"loss": float(np.mean(losses)), "gap": float(np.mean(gaps))} if losses else {}),
        }

    def _measure_losses(self, records: Records, target: nn.Module) -> tuple[Tensor, Tensor]:
        """Return sums: the errors of the values, and by how much others exceed what was done."""
        values, unused = self.forward(records.observations)
        chosen = values.gather(-1, records.actions[:, None]).squeeze(-1)
        targets = self._work_out_targets(records, target)
        error = functional.smooth_l1_loss(chosen, targets, reduction="sum")
        legal = values.masked_fill(~records.masks, ILLEGAL)
        # In a process group every weight must be part of the loss.
        return error + 0.0 * unused.sum(), (legal.logsumexp(-1) - chosen).sum()

    @torch.no_grad()
    def _work_out_targets(self, records: Records, target: nn.Module) -> Tensor:
        following = records.next_observations.view(-1, *self.task.observation_shape)
        none = torch.empty(len(records), 0)
        # The network chooses, its older self judges: one alone takes its own errors for gain.
        chosen = self.module(following, none)[0].masked_fill(~records.next_masks, ILLEGAL)
        judged = target(following, none)[0].gather(-1, chosen.argmax(-1, keepdim=True)).squeeze(-1)
        rewards = self._settings.reward_scale * records.rewards
        targets: Tensor = rewards + self._settings.discount * ~records.terminated * judged
        return targets


class ConservativeQTrainer:
    """For records of players good and bad."""

    id = "cql"

    def begin(self, task: Task, parameters: Mapping[str, Value], *, seed: int) -> ConservativeQ:
        """Return a learner at its start. Raises ParameterError."""
        values = read_parameters(self.id, SPEC.parameters, parameters)
        return ConservativeQ(task, _Settings(**values), seed=seed)  # type: ignore[arg-type]


TRAINER = ConservativeQTrainer()
