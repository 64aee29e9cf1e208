"""A small network that first does as a teacher does, then learns from its own battles."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from arena.checkpoints import Seal
from arena.games.showdown.layout import N_ACTIONS, SIZE
from examples.showdown.decisions import Decisions
from inference.model import fresh, save_sealed

SEAL = Seal(
    architecture="mlp",
    parameters={"hidden": "128,64"},
    game="showdown_gen1random",
    observation_shape=(SIZE,),
    n_actions=N_ACTIONS,
)


@dataclass(frozen=True)
class Schedule:
    """How to learn; the defaults are those of the shipped run."""

    batch: int = 512
    imitation_rate: float = 1e-3
    rate: float = 3e-4
    uses: int = 3
    """How often each decision of a generation of self-play is learned from."""
    clip: float = 0.2
    entropy: float = 0.005
    value_weight: float = 0.5
    most_gradient: float = 0.5


class Learner:
    """The network with its optimizer; on the CPU, with the randomness passed in."""

    def __init__(self, rng: np.random.Generator, schedule: Schedule | None = None) -> None:
        self._rng, self._schedule = rng, schedule or Schedule()
        self._module: nn.Module = fresh(SEAL, seed=int(rng.integers(2**63)))
        self._optimizer = torch.optim.Adam(
            self._module.parameters(), lr=self._schedule.imitation_rate
        )
        self.n_updates = 0

    def save(self, path: Path) -> str:
        """Write the network as a sealed checkpoint; return its hash."""
        return save_sealed(self._module, path, SEAL)

    def imitate(self, decisions: Decisions, n_updates: int) -> tuple[float, float]:
        """Learn what a teacher chose and what came of it; return agreement and loss of the last."""
        schedule, agreement, loss = self._schedule, 0.0, torch.zeros(())
        batches = self._batches(decisions)
        for _ in range(n_updates):
            batch = next(batches)
            logits, values = self._forward(batch)
            actions = torch.from_numpy(batch.actions)
            told = torch.from_numpy(batch.returns)
            loss = cross_entropy(logits, actions) + schedule.value_weight * mse_loss(values, told)
            self._step(loss)
            agreement = float((logits.argmax(1) == actions).float().mean())
        return agreement, loss.item()

    def improve(self, decisions: Decisions) -> float:
        """Learn from battles that this network has played at temperature 1; return the last loss.

        Clipped surrogate with the return at the end (Schulman et al. 2017, arXiv 1707.06347).
        """
        for group in self._optimizer.param_groups:
            group["lr"] = self._schedule.rate
        advantages = decisions.returns - decisions.values
        scale = float(advantages.std()) + 1e-6
        n = len(decisions.actions) * self._schedule.uses // self._schedule.batch
        batches, loss = self._batches(decisions), torch.zeros(())
        for _ in range(n):
            loss = self._surrogate(next(batches), scale)
            self._step(loss)
        return loss.item()

    def _surrogate(self, batch: Decisions, scale: float) -> Tensor:
        schedule = self._schedule
        logits, values = self._forward(batch)
        chances = logits.log_softmax(1)
        taken = chances.gather(1, torch.from_numpy(batch.actions)[:, None])[:, 0]
        ratio = (taken - torch.from_numpy(batch.log_probs)).exp()
        advantage = torch.from_numpy((batch.returns - batch.values) / scale)
        clipped = ratio.clamp(1 - schedule.clip, 1 + schedule.clip)
        gain = torch.minimum(ratio * advantage, clipped * advantage).mean()
        entropy = -(chances.exp() * chances.clamp(min=-30)).sum(1).mean()
        error = mse_loss(values, torch.from_numpy(batch.returns))
        return schedule.value_weight * error - gain - schedule.entropy * entropy

    def _forward(self, batch: Decisions) -> tuple[Tensor, Tensor]:
        observations = torch.from_numpy(batch.observations)
        no_state = observations.new_zeros(len(observations), 0)
        logits, values, _ = self._module(observations, no_state)
        return logits.masked_fill(~torch.from_numpy(batch.masks), -1e9), values

    def _step(self, loss: Tensor) -> None:
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self._module.parameters(), self._schedule.most_gradient)
        self._optimizer.step()
        self.n_updates += 1

    def _batches(self, decisions: Decisions) -> Iterator[Decisions]:
        """Yield batches without end, each decision once in every round."""
        n = len(decisions.actions)
        while True:
            order = self._rng.permutation(n)
            for start in range(0, n - self._schedule.batch + 1, self._schedule.batch):
                yield decisions.take(order[start : start + self._schedule.batch])
