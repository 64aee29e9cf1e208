"""A slice of a run: from the state that the one before has left to one that the next goes on from.

It stores its state every two seconds, or less often where it is large, so that a slice that is
killed loses no more: the next one begins at that state and reads again the chunks that came after.
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
from training.base import Learner, Metrics, Task
from training.errors import TrainingError
from training.files import RunFiles
from training.policies import ARCHITECTURE
from training.streams import COUNT, ChunkReader, Entry

CHUNKS_AT_ONCE = 8
"""What a policy learns from at once: of fewer, its gradient is noise."""
STATE_S, MOST_STATE_S = 2.0, 30.0
"""Seconds between two states: at least and at most."""
BYTES_PER_S: Final = 4 << 20
"""Of states that a trainer may store."""

Report = Callable[[Trained], None]
"""Sends a report to control; it returns once the broker has it."""


class Slice:
    """A slice that is being trained."""

    def __init__(self, order: TrainOrder, *, trainer: str, files: RunFiles, report: Report) -> None:
        """Fetch the state that it begins with. Raises TrainingError, ParameterError."""
        self._order, self._trainer, self._files, self._report = order, trainer, files, report
        task = Task(order.game, tuple(order.observation_shape), order.n_actions)
        begin = registry.get(order.algorithm).begin
        self._learner: Learner = begin(task, order.parameters, seed=order.seed)
        if order.state:
            self._learner.load(files.fetch(order.state, order.source))
        self._state, self._stored_place = order.state, self._learner.place
        self._metrics: Metrics = {}
        self._pause_s = STATE_S

    def run(self, reader: ChunkReader, *, clock_s: Callable[[], float]) -> None:
        """Learn until the time is over or enough is learned; report versions, then the state."""
        begun_s = clock_s()
        until, due_s = begun_s + self._order.slice_s, begun_s + STATE_S
        # A sign of life; at the start of a run also what its first players load.
        self._send(weights="" if self._order.state else self._put_weights())
        reader.resume(self._learner.place)
        waiting, has_learned = list[Entry](), False
        while (now := clock_s()) < until and self._learner.n_steps < self._order.max_steps:
            if now >= due_s:
                self._report_state(reader)
                due_s = now + self._pause_s
            if len(waiting) < CHUNKS_AT_ONCE:
                waiting += reader.read(COUNT - len(waiting))
            if len(waiting) >= CHUNKS_AT_ONCE:
                self._learn(waiting[:CHUNKS_AT_ONCE])
                del waiting[:CHUNKS_AT_ONCE]
                if not has_learned:
                    # However soon it is killed, something is kept.
                    has_learned, due_s = True, now
        self._report_state(reader, is_last=True)

    def _report_state(self, reader: ChunkReader, *, is_last: bool = False) -> None:
        if self._learner.place != self._stored_place or not self._state:
            state = self._learner.save()
            self._pause_s = min(max(STATE_S, len(state) / BYTES_PER_S), MOST_STATE_S)
            self._state = self._files.put(state)
            self._stored_place = self._learner.place
        n_unreadable = float(reader.n_unreadable)
        unreadable = {"n_unreadable": n_unreadable} if n_unreadable else {}
        metrics = {**self._metrics, **unreadable}
        self._send(is_last=is_last, state=self._state, metrics=metrics)
        # Not before: who goes on without this report must find these chunks again.
        reader.acknowledge(self._stored_place)

    def _learn(self, entries: list[Entry]) -> None:
        version = self._learner.version
        self._metrics = self._learner.learn([entry.chunk for entry in entries])
        self._learner.place = entries[-1].place
        if self._learner.version > version:
            self._send(weights=self._put_weights(), metrics=self._metrics)

    def _put_weights(self) -> str:
        return self._files.put(seal_weights(self._learner, self._order))

    def _send(
        self,
        *,
        weights: str = "",
        state: str = "",
        metrics: Metrics | None = None,
        is_last: bool = False,
    ) -> None:
        order = self._order
        report = Trained(
            trainer=self._trainer,
            run=order.run,
            order=order.order,
            slice=order.slice,
            token=order.token,
            key=order.key,
            version=self._learner.version,
            n_steps=self._learner.n_steps,
            weights=weights,
            state=state,
            metrics=dict(metrics or {}),
            is_last=is_last,
        )
        self._report(report)


def seal_weights(learner: Learner, order: TrainOrder) -> bytes:
    """Return the weights as a sealed checkpoint. Raises TrainingError where one is not finite."""
    for name, weights in learner.module.named_parameters():
        if not torch.isfinite(weights).all():
            why = f"weights {name} of version {learner.version} are not finite"
            raise TrainingError(f"{why}, so they are not published: lower the learning rate")
    seal = Seal(
        ARCHITECTURE,
        dict(learner.architecture_parameters),
        order.game,
        tuple(order.observation_shape),
        order.n_actions,
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "weights.safetensors"
        save_sealed(learner.module, path, seal)
        return path.read_bytes()
