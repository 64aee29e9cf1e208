"""A slice of a run: from the state that the one before has left to one that the next goes on from.

It stores its state every two seconds, or less often where it is large, so that a slice that is
killed loses no more: the next one begins at that state and reads again the chunks that came after.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import torch

from arena.checkpoints import Seal
from arena.train_messages import Trained, TrainOrder
from inference.model import save_sealed
from training import registry
from training.base import Learner, Metrics, Source, Task, TrainedNetwork
from training.errors import TrainingError
from training.files import RunFiles

STATE_S, MOST_STATE_S = 2.0, 30.0
"""Seconds between two states: at least and at most."""
IDLE_S: Final = 10.0
"""Of a slice to which nothing comes: then its trainer is free for another run."""
BYTES_PER_S: Final = 4 << 20
"""Of states that a trainer may store."""

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
    """A slice that is being trained from a stream or a dataset."""

    def __init__(self, order: TrainOrder, reporter: Reporter) -> None:
        """Fetch the state that it begins with. Raises TrainingError, ParameterError."""
        self._order, self._reporter = order, reporter
        self._learner = begin_learner(order, reporter.files)
        # What came after that state is played already: its number is not given twice.
        self._learner.n_updates = max(self._learner.n_updates, order.version)
        self._state, self._stored_place = order.state, self._learner.place
        self._metrics: Metrics = {}
        self._published, self._published_s = self._learner.version, 0.0
        self._pause_s = STATE_S

    def run(self, source: Source, *, clock_s: Callable[[], float]) -> None:
        """Learn until the time is over, enough is learned or nothing comes any more.

        Versions are reported on the way, the state at the end.
        """
        self._published_s = came_s = clock_s()
        until, due_s = self._published_s + self._order.slice_s, self._published_s + STATE_S
        # A sign of life; at the start of a run also what its first players load.
        weights = "" if self._order.state else self._reporter.put_weights(self._learner)
        self._reporter.send(self._learner, weights=weights)
        source.resume(self._learner.place)
        waiting, has_learned = list[Any](), False
        while (now := clock_s()) < until and self._learner.n_steps < self._order.max_steps:
            if now >= due_s:
                self._report_state(source)
                due_s = now + self._pause_s
            if len(waiting) < source.at_once:
                n_before = len(waiting)
                waiting += source.read(source.most - n_before)
                if len(waiting) > n_before:
                    came_s = now
                elif now - came_s >= IDLE_S:
                    break
            if len(waiting) >= source.at_once:
                self._learn_entries(source, waiting[: source.at_once], now=now)
                del waiting[: source.at_once]
                if not has_learned:
                    # However soon it is killed, something is kept.
                    has_learned, due_s = True, now
        is_new = self._learner.version > self._published
        # In one report: a version that came behind the end of its slice would be too late.
        weights = self._reporter.put_weights(self._learner) if is_new else ""
        self._report_state(source, is_last=True, weights=weights)

    def _report_state(self, source: Source, *, is_last: bool = False, weights: str = "") -> None:
        if self._learner.place != self._stored_place or not self._state:
            state = self._learner.save()
            self._pause_s = min(max(STATE_S, len(state) / BYTES_PER_S), MOST_STATE_S)
            self._state = self._reporter.files.put(state)
            self._stored_place = self._learner.place
        n_unreadable = float(source.n_unreadable)
        unreadable = {"n_unreadable": n_unreadable} if n_unreadable else {}
        metrics = {**self._metrics, **unreadable}
        self._reporter.send(
            self._learner, is_last=is_last, weights=weights, state=self._state, metrics=metrics
        )
        # Not before: who goes on without this report must find these chunks again.
        source.acknowledge(self._stored_place)

    def _learn_entries(self, source: Source, entries: Sequence[Any], *, now: float) -> None:
        self._metrics = source.teach(self._learner, entries)
        self._learner.place = entries[-1].place
        is_due = now - self._published_s >= source.publish_s
        if is_due and self._learner.version > self._published:
            self._publish_version(now=now)

    def _publish_version(self, *, now: float) -> None:
        weights = self._reporter.put_weights(self._learner)
        self._reporter.send(self._learner, weights=weights, metrics=self._metrics)
        self._published, self._published_s = self._learner.version, now


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
