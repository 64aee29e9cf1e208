"""Behaviour cloning: what somebody did, humans included, is what the policy learns to do."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch.nn import functional

from arena.experience.chunks import Chunk
from arena.parameters import Value, read_parameters
from arena.trainers.catalog.bc import TRAINER as SPEC
from training.base import Metrics, Task
from training.policies import TrainedPolicy, separate_values
from training.records import ILLEGAL, Records, read_chunks


class Clone(TrainedPolicy):
    """A policy that imitates; its value is not trained."""

    def __init__(self, task: Task, hidden: str, *, rate: float, minibatch: int, seed: int) -> None:
        """Draw the weights from the seed. Raises ParameterError."""
        super().__init__(task, separate_values(hidden), algorithm="bc", rate=rate, seed=seed)
        self._minibatch = minibatch

    @property
    def version(self) -> int:
        """How often chunks have changed the policy."""
        return self.n_updates

    def learn(self, chunks: Sequence[Chunk]) -> Metrics:
        """Pass once over all steps; log-probabilities are not needed."""
        records = read_chunks(chunks, n_actions=self.task.n_actions)
        return {**self.learn_records(records), **self.episodes.measure(chunks)}

    def learn_records(self, records: Records) -> Metrics:
        """Pass once over all steps; what was not legal counts nothing."""
        losses = []
        n_skipped = self.n_skipped
        for rows, n_steps in self.draw_minibatches(len(records), self._minibatch):
            chosen = records.take(rows)
            logits, values = self.forward(chosen.observations)
            logits = logits.masked_fill(~chosen.masks, ILLEGAL)
            # In a process group every weight must be part of the loss.
            error = functional.cross_entropy(logits, chosen.actions, reduction="sum")
            loss = error / n_steps + 0.0 * values.sum()
            if self.take_step(loss):
                losses.append(float(loss.detach()))
        self.n_updates += 1
        self.n_steps += len(records)
        return {
            "n_used": float(len(records)),
            "n_skipped": float(self.n_skipped - n_skipped),
            **({"loss": float(np.mean(losses))} if losses else {}),
        }


class CloneTrainer:
    """For records of any player."""

    id = "bc"

    def begin(self, task: Task, parameters: Mapping[str, Value], *, seed: int) -> Clone:
        """Return a learner at its start. Raises ParameterError."""
        values = read_parameters(self.id, SPEC.parameters, parameters)
        return Clone(
            task,
            str(values["hidden"]),
            rate=float(values["learning_rate"]),
            minibatch=int(values["minibatch"]),
            seed=seed,
        )


TRAINER = CloneTrainer()
