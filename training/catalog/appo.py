"""APPO: PPO's clipped objective on data some versions old, its values corrected by V-trace."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from arena.experience.chunks import Chunk
from arena.parameters import Value, read_parameters
from arena.trainers.catalog.appo import TRAINER as SPEC
from training.base import Metrics, Task
from training.batches import Batch, join_chunks, sort_chunks
from training.policies import Share, TrainedPolicy, separate_values
from training.returns import Steps, make_vtrace

MOST_LOG_RATIO: Final = 20.0
"""Either way: beyond it, exp leaves float32 or says nothing more."""


class _Settings(NamedTuple):
    hidden: str
    learning_rate: float
    epochs: int
    minibatch: int
    clip: float
    discount: float
    decay: float
    entropy: float
    value: float
    reward_scale: float
    max_lag: int


class Appo(TrainedPolicy):
    """A policy that learns from its own recent data, whoever sent it."""

    def __init__(self, task: Task, settings: _Settings, *, seed: int) -> None:
        """Draw the weights from the seed. Raises ParameterError."""
        super().__init__(
            task,
            separate_values(settings.hidden),
            algorithm="appo",
            rate=settings.learning_rate,
            seed=seed,
        )
        self._settings = settings

    @property
    def version(self) -> int:
        """How often chunks have changed the policy."""
        return self.n_updates

    def learn(self, chunks: Sequence[Chunk]) -> Metrics:
        """Learn from what is recent and has log-probabilities; the rest is counted."""
        fresh, n_stale, n_unknown = sort_chunks(
            chunks, version=self.version, max_lag=self._settings.max_lag
        )
        passed_over = {"n_used": 0.0, "n_stale": float(n_stale), "n_unknown": float(n_unknown)}
        if not fresh:
            return passed_over
        batch = join_chunks(fresh)
        n_skipped = self.n_skipped
        losses = [loss for _ in range(self._settings.epochs) for loss in self._learn_once(batch)]
        lags = [self.version - chunk.policy_version for chunk in fresh]
        self.n_updates += 1
        self.n_steps += len(batch)
        return {
            **passed_over,
            "n_used": float(len(batch)),
            "lag": float(np.average(lags, weights=[len(chunk) for chunk in fresh])),
            "n_skipped": float(self.n_skipped - n_skipped),
            **self.episodes.measure(fresh),
            **({"loss": float(np.mean(losses))} if losses else {}),
        }

    def _learn_once(self, batch: Batch) -> list[float]:
        """Change the weights by each minibatch of one pass; return the losses."""
        # Anew in each pass: both depend on the weights.
        targets, advantages = self._work_out_returns(batch)
        losses = []
        for share in self.draw_minibatches(len(batch), self._settings.minibatch):
            loss = self._measure_loss(batch, share, targets[share.rows], advantages[share.rows])
            if self.take_step(loss):
                losses.append(float(loss.detach()))
        return losses

    @torch.no_grad()
    def _work_out_returns(self, batch: Batch) -> tuple[Tensor, Tensor]:
        logits, values = self.forward(batch.observations)
        _, next_values = self.forward(batch.next_observations)
        log_ratios = _find_log_probs(logits, batch.actions) - batch.log_probs
        steps = Steps(
            self._settings.reward_scale * batch.rewards.double().numpy(),
            values.double().numpy(),
            next_values.double().numpy(),
            batch.terminated,
            batch.is_cut,
        )
        targets, advantages = make_vtrace(
            steps,
            log_ratios.double().numpy(),
            discount=self._settings.discount,
            decay=self._settings.decay,
        )
        normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        return torch.from_numpy(targets).float(), torch.from_numpy(normal).float()

    def _measure_loss(
        self, batch: Batch, share: Share, targets: Tensor, advantages: Tensor
    ) -> Tensor:
        rows, n_steps = share
        logits, values = self.forward(batch.observations[rows])
        log_ratios = _find_log_probs(logits, batch.actions[rows]) - batch.log_probs[rows]
        ratios = log_ratios.clamp(-MOST_LOG_RATIO, MOST_LOG_RATIO).exp()
        clipped = ratios.clamp(1 - self._settings.clip, 1 + self._settings.clip)
        gain = torch.minimum(ratios * advantages, clipped * advantages).sum()
        all_log_probs = logits.log_softmax(-1)
        entropy = -(all_log_probs.exp() * all_log_probs).sum()
        error = functional.mse_loss(values, targets, reduction="sum")
        loss = self._settings.value * error - gain - self._settings.entropy * entropy
        return loss / n_steps


def _find_log_probs(logits: Tensor, actions: Tensor) -> Tensor:
    """Return the log-probability of each action: float32 [B]."""
    return logits.log_softmax(-1).gather(-1, actions[:, None]).squeeze(-1)


class AppoTrainer:
    """For data that a stream brings, some versions late."""

    id = "appo"

    def begin(self, task: Task, parameters: Mapping[str, Value], *, seed: int) -> Appo:
        """Return a learner at its start. Raises ParameterError."""
        values = read_parameters(self.id, SPEC.parameters, parameters)
        return Appo(task, _Settings(**values), seed=seed)  # type: ignore[arg-type]


TRAINER = AppoTrainer()
