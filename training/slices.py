"""A slice of a run: from the state that the one before has left to one that the next goes on from.

It stores its state every ten seconds, so that a slice that is killed loses no more: the next one
begins at that state and reads again the chunks that came after it.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import torch

from arena.checkpoints import Seal
from arena.train_messages import Trained, TrainOrder
from inference.model import save_sealed
from training import registry
from training.base import Learner, Metrics, Task, TrainedNetwork
from training.errors import TrainingError
from training.files import RunFiles
from training.streams import COUNT, ChunkReader, Entry

CHUNKS_AT_ONCE = 8
"""What a policy learns from at once: of fewer, its gradient is noise."""
REPORT_S: Final = 10.0
"""Between two states; the lease of a slice that does not report ends after thirty seconds."""

Report = Callable[[Trained], None]
"""Sends a report to control; it returns once the broker has it."""


class Reporter:
    """Puts the files of a slice and sends its reports."""

    def __init__(self, order: TrainOrder, *, trainer: str, files: RunFiles, report: Report) -> None:
        """Send nothing yet."""
        self.files = files
        self._order, self._trainer, self._report = order, trainer, report

    def put_weights(self, network: TrainedNetwork) -> str:
        """Return the hash under which the weights of a version are stored."""
        return self.files.put(seal_weights(network, self._order))

    def send(
        self,
        network: TrainedNetwork,
        *,
        weights: str = "",
        state: str = "",
        metrics: Metrics | None = None,
        is_last: bool = False,
    ) -> None:
        """Report how far a network is."""
        order = self._order
        report = Trained(
            trainer=self._trainer,
            run=order.run,
            order=order.order,
            slice=order.slice,
            token=order.token,
            key=order.key,
            version=network.version,
            n_steps=network.n_steps,
            weights=weights,
            state=state,
            metrics=dict(metrics or {}),
            is_last=is_last,
        )
        self._report(report)


def begin_learner(order: TrainOrder, files: RunFiles) -> Learner:
    """Return the learner of an order as its state left it. Raises TrainingError, ParameterError."""
    task = Task(order.game, tuple(order.observation_shape), order.n_actions)
    learner = registry.get(order.algorithm).begin(task, order.parameters, seed=order.seed)
    if order.state:
        learner.load(files.fetch(order.state, order.source))
    return learner


class Slice:
    """A slice that is being trained from a stream."""

    def __init__(self, order: TrainOrder, reporter: Reporter) -> None:
        """Fetch the state that it begins with. Raises TrainingError, ParameterError."""
        self._order, self._reporter = order, reporter
        self._learner = begin_learner(order, reporter.files)
        self._state, self._stored_place = order.state, self._learner.place
        self._metrics: Metrics = {}

    def run(self, reader: ChunkReader, *, clock_s: Callable[[], float]) -> None:
        """Learn until the time is over or enough is learned; report versions, then the state."""
        reported_s = clock_s()
        until = reported_s + self._order.slice_s
        # A sign of life; at the start of a run also what its first players load.
        weights = "" if self._order.state else self._reporter.put_weights(self._learner)
        self._reporter.send(self._learner, weights=weights)
        reader.resume(self._learner.place)
        waiting: list[Entry] = []
        while (now := clock_s()) < until and self._learner.n_steps < self._order.max_steps:
            if now - reported_s >= REPORT_S:
                self._report_state(reader)
                reported_s = now
            if len(waiting) < CHUNKS_AT_ONCE:
                waiting += reader.read(COUNT - len(waiting))
            if len(waiting) >= CHUNKS_AT_ONCE:
                self._learn(waiting[:CHUNKS_AT_ONCE])
                del waiting[:CHUNKS_AT_ONCE]
        self._report_state(reader, is_last=True)

    def _report_state(self, reader: ChunkReader, *, is_last: bool = False) -> None:
        if self._learner.place != self._stored_place or not self._state:
            self._state = self._reporter.files.put(self._learner.save())
            self._stored_place = self._learner.place
        n_unreadable = float(reader.n_unreadable)
        unreadable = {"n_unreadable": n_unreadable} if n_unreadable else {}
        metrics = {**self._metrics, **unreadable}
        self._reporter.send(self._learner, is_last=is_last, state=self._state, metrics=metrics)
        # Not before: who goes on without this report must find these chunks again.
        reader.acknowledge(self._stored_place)

    def _learn(self, entries: list[Entry]) -> None:
        version = self._learner.version
        self._metrics = self._learner.learn([entry.chunk for entry in entries])
        self._learner.place = entries[-1].place
        if self._learner.version > version:
            weights = self._reporter.put_weights(self._learner)
            self._reporter.send(self._learner, weights=weights, metrics=self._metrics)


def seal_weights(network: TrainedNetwork, order: TrainOrder) -> bytes:
    """Return the weights as a sealed checkpoint. Raises TrainingError where one is not finite."""
    for name, weights in network.module.named_parameters():
        if not torch.isfinite(weights).all():
            why = f"weights {name} of version {network.version} are not finite"
            raise TrainingError(f"{why}, so they are not published: lower the learning rate")
    seal = Seal(
        network.architecture,
        dict(network.architecture_parameters),
        order.game,
        tuple(order.observation_shape),
        order.n_actions,
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        save_sealed(network.module, path, seal)
        return path.read_bytes()
