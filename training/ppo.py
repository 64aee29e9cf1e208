"""PPO on the matches of the newest version: illegal actions masked as they were when it played."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from arena.parameters import Value
from training.base import Metrics, Task
from training.decisions import Decisions, list_steps, read_decisions
from training.errors import TrainingError
from training.policies import TrainedPolicy, read_network
from training.returns import make_gae

ILLEGAL: Final = -1e9
"""The logit of an illegal action: no probability, and finite, so that its gradient is 0."""


class PpoSettings(NamedTuple):
    """The parameters that arena.trainers.ppo declares."""

    matches: int
    network: str
    learning_rate: float
    epochs: int
    minibatch: int
    clip: float
    discount: float
    decay: float
    entropy: float
    value: float
    reward_scale: float


class Ppo(TrainedPolicy):
    """A policy that learns from matches that it has played itself."""

    def __init__(self, task: Task, settings: PpoSettings, *, algorithm: str, seed: int) -> None:
        """Draw the weights from the seed. Raises ParameterError."""
        network = read_network(algorithm, settings.network)
        super().__init__(task, network, algorithm=algorithm, rate=settings.learning_rate, seed=seed)
        self._settings = settings

    @property
    def version(self) -> int:
        """How often matches have changed the policy."""
        return self.n_updates

    def learn_matches(self, pieces: Iterable[bytes], *, checkpoint: str) -> Metrics:
        """Learn from what the checkpoint, this version, has decided.

        Raises TrainingError where it has decided nothing.
        """
        decisions = read_decisions(pieces, self.task, checkpoint=checkpoint)
        if not len(decisions):
            raise TrainingError(f"no match has a decision of {checkpoint:.12} and went to its end")
        targets, advantages = self._work_out_returns(decisions)
        losses: list[Losses] = []
        n_skipped = self.n_skipped
        for _ in range(self._settings.epochs):
            losses += self._learn_once(decisions, targets, advantages)
        self.n_updates += 1
        self.n_steps += len(decisions)
        return {
            "n_used": float(len(decisions)),
            "n_matches": float(decisions.n_matches),
            **_average_return(decisions),
            "n_skipped": float(self.n_skipped - n_skipped),
            **_average_losses(losses),
        }

    def _learn_once(
        self, decisions: Decisions, targets: Tensor, advantages: Tensor
    ) -> "list[Losses]":
        losses = []
        for share in self.draw_minibatches(len(decisions), self._settings.minibatch):
            rows = share.rows
            answers = self.forward(decisions.observations[rows])
            parts = self.weigh_decisions(decisions, rows, *answers, targets[rows], advantages[rows])
            error = self._settings.value * parts.error
            loss = error - parts.gain - self._settings.entropy * parts.entropy
            if self.take_step(loss / share.n_steps):
                losses.append(Losses(*(float(part.detach()) / max(1, len(rows)) for part in parts)))
        return losses

    @torch.no_grad()
    def _work_out_returns(self, decisions: Decisions) -> tuple[Tensor, Tensor]:
        _, values = self.forward(decisions.observations)
        steps = list_steps(decisions, values, reward_scale=self._settings.reward_scale)
        targets, advantages = make_gae(
            steps, discount=self._settings.discount, decay=self._settings.decay
        )
        normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        return torch.from_numpy(targets).float(), torch.from_numpy(normal).float()

    def weigh_decisions(
        self,
        decisions: Decisions,
        rows: Tensor,
        logits: Tensor,
        values: Tensor,
        targets: Tensor,
        advantages: Tensor,
    ) -> "Parts":
        """Return the sums over these rows of what the loss is made of; all others are of rows."""
        all_log_probs = mask_logits(logits, decisions.masks[rows]).log_softmax(-1)
        actions = decisions.actions[rows]
        log_probs = all_log_probs.gather(-1, actions[:, None]).squeeze(-1)
        ratios = (log_probs - decisions.log_probs[rows]).exp()
        clipped = ratios.clamp(1 - self._settings.clip, 1 + self._settings.clip)
        return Parts(
            torch.minimum(ratios * advantages, clipped * advantages).sum(),
            functional.mse_loss(values, targets, reduction="sum"),
            -(all_log_probs.exp() * all_log_probs).sum(),
        )


class Parts(NamedTuple):
    """Of a loss, each a sum over decisions: float32 []."""

    gain: Tensor
    error: Tensor
    entropy: Tensor


class Losses(NamedTuple):
    """The same as means."""

    gain: float
    error: float
    entropy: float


def mask_logits(logits: Tensor, masks: Tensor) -> Tensor:
    """Return the logits [B, A], with illegal actions masked."""
    return logits.masked_fill(~masks, ILLEGAL)


def _average_return(decisions: Decisions) -> Metrics:
    """Return the mean return of a seat; none where both learn, as one wins what the other loses."""
    returns = decisions.rewards[decisions.is_last]
    return {"return": float(returns.mean())} if len(returns) == decisions.n_matches else {}


def _average_losses(losses: list[Losses]) -> dict[str, float]:
    if not losses:
        return {}
    means = np.mean(losses, axis=0)
    return dict(zip(("gain", "value_error", "entropy"), map(float, means), strict=True))


def begin_ppo(task: Task, values: Mapping[str, Value], *, algorithm: str, seed: int) -> Ppo:
    """Return a learner at its start, of checked parameters. Raises ParameterError."""
    settings = {name: value for name, value in values.items() if name in PpoSettings._fields}
    return Ppo(task, PpoSettings(**settings), algorithm=algorithm, seed=seed)  # type: ignore[arg-type]
