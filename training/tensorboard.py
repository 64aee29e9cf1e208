"""Metrics of a run as files that TensorBoard reads, where EVALSITE_TENSORBOARD names a folder."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arena.train_messages import Trained

log = logging.getLogger(__name__)


class Curves:
    """The curves of a run, in a folder of its own; each slice writes one file more."""

    def __init__(self, folder: Path, run: str, *, clock_s: Callable[[], float]) -> None:
        """Write nothing yet; clock_s: the time of day, which TensorBoard shows."""
        self._folder, self._clock_s = folder / run, clock_s
        self._writer: Any = None
        self._written = -1

    def add(self, report: Trained) -> None:
        """Write the metrics of a report by its steps; reports of the same steps are written once.

        Where the disk takes none the log says so: no slice is lost for its curves.
        """
        if not report.metrics or report.n_steps <= self._written:
            return
        try:
            self._write_report(report)
        except OSError as error:
            log.warning("metrics of run %s are not written for TensorBoard: %s", report.run, error)
        self._written = report.n_steps

    def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.close()

    def _write_report(self, report: Trained) -> None:
        if self._writer is None:
            # Loaded late: an extra.
            from tensorboardX import SummaryWriter  # type: ignore[import-untyped] # noqa: PLC0415

            # What a slice that was lost has written behind this step is taken back.
            self._writer = SummaryWriter(str(self._folder), purge_step=report.n_steps)
        for name, value in sorted(report.metrics.items()):
            self._writer.add_scalar(name, value, report.n_steps, walltime=self._clock_s())
        self._writer.flush()
