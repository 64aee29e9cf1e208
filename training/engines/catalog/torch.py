"""Torch in this process: any trainer, pass after pass over the same chunks."""

from math import nan
from pathlib import Path
from typing import Final

from safetensors import SafetensorError

from arena.checkpoints import Seal
from inference.model import save_sealed
from training import registry
from training.base import Task
from training.engines.base import LearnOrder, LearnResult, read_chunks
from training.errors import TrainingError

CHUNKS_AT_ONCE: Final = 64


class TorchEngine:
    """Learns here."""

    id = "torch"
    algorithms = ("bc",)

    def learn(self, order: LearnOrder) -> LearnResult:
        """Return what was learned. Raises TrainingError, ParameterError."""
        shape = tuple(order.observation_shape)
        task = Task(order.game, shape, order.n_actions)
        learner = registry.get(order.algorithm).begin(task, order.parameters, seed=order.seed)
        chunks, loss = read_chunks(order.segments, game=order.game), nan
        for _ in range(order.passes):
            for first in range(0, len(chunks), CHUNKS_AT_ONCE):
                metrics = learner.learn(chunks[first : first + CHUNKS_AT_ONCE])
                loss = metrics.get("loss", nan)
        parameters = dict(learner.architecture_parameters)
        seal = Seal(learner.architecture, parameters, order.game, shape, order.n_actions)
        try:
            sha256 = save_sealed(learner.module, Path(order.target), seal)
        except (OSError, SafetensorError) as error:
            raise TrainingError(f"{order.target} is not written: {error}") from error
        return LearnResult(sha256, learner.n_steps, loss, ["this process"])


ENGINE = TorchEngine()
