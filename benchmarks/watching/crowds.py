"""The process of the viewers, as the benchmark sees it."""

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from launcher.folders import ROOT

_ENDS_WITHIN_S = 30.0


class Viewers:
    """A running process of viewers; leaving the block ends it."""

    def __init__(self, port: int, path: str, n: int, file: Path) -> None:
        self._file = file
        module = ("-m", "benchmarks.watching.viewers")
        self._running = subprocess.Popen(
            [sys.executable, *module, str(port), path, str(n), str(file)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C reaches only the benchmark, which ends them
        )

    @property
    def pid(self) -> int:
        """Return the pid of the process."""
        return self._running.pid

    def wait_until_all_watch(self) -> None:
        """Return when all have a first snapshot. Raises ConnectionError when they do not."""
        assert self._running.stdout
        if self._running.stdout.readline().strip() != "ready":
            raise ConnectionError("not all viewers got a snapshot: see what they printed above")

    def leave(self) -> dict[str, Any]:
        """End the viewers and return what they saw."""
        self._running.communicate(timeout=_ENDS_WITHIN_S)
        if self._running.returncode != 0:
            raise ConnectionError(f"the viewers ended with status {self._running.returncode}")
        with np.load(self._file) as seen:
            return {name: seen[name] for name in seen.files}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._running.poll() is None:
            self._running.kill()
            self._running.wait()
