"""Runs the checks of a plug-in in a process of its own, stopped when one takes too long."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from select import select
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Final, NamedTuple

from evalsite_client.cli.clone import find_package

PLUGINS: Final = "EVALSITE_PLUGINS"
LOADS: Final = "can be loaded"
"""What arena.conformance.reporting calls the first check."""
MOST_BYTES: Final = 2**16


class Checked(NamedTuple):
    """What became of one check: why it fails, empty where it passes; note: what else it tells."""

    name: str
    failure: str
    note: str = ""


def check_plugin(
    path: Path, family: str, folder: str, module: str, *, games: Sequence[str], limit_s: float
) -> Iterator[Checked]:
    """Yield what becomes of every check, in order.

    A check that takes longer than limit_s fails, and those after it run in a new process.
    Raises InputError where the package that checks is not installed.
    """
    with _make_plugin_root(path, folder) as root:
        environment = _make_environment(root, module)
        command = [sys.executable, "-m", module, family, path.stem, "--folder", folder]
        command += [word for game in games for word in ("--game", game)]
        run = _Run(command, environment, limit_s)
        yield from run.read_checks(0)
        # The plug-in is loaded again; that was told once.
        while run.n_left_over:
            yield from islice(run.read_checks(run.n_checked), 1, None)


def _make_environment(root: Path, module: str) -> dict[str, str]:
    environment = find_package(module.partition(".")[0])
    others = environment.get(PLUGINS, "").split(os.pathsep)
    roots = [str(root), *(other for other in others if other and Path(other).resolve() != root)]
    return {**environment, PLUGINS: os.pathsep.join(roots)}


@contextmanager
def _make_plugin_root(path: Path, folder: str) -> Iterator[Path]:
    """Yield a folder of plug-ins that holds this one: its own, or one made for the check."""
    if path.parent.name == folder:
        yield path.parent.parent
        return
    with TemporaryDirectory() as root:
        (Path(root) / folder).mkdir()
        (Path(root) / folder / path.name).symlink_to(path)
        yield Path(root).resolve()


class _Run:
    """Processes that check, each from the first check that was not run yet."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], limit_s: float
    ) -> None:
        self._command, self._environment, self._limit_s = command, environment, limit_s
        # Besides the loading. How many there are is told once that is over.
        self.n_checked, self._n_checks = 0, 0

    @property
    def n_left_over(self) -> int:
        """How many checks were not run yet; 0 as well where the plug-in cannot be loaded."""
        return self._n_checks - self.n_checked

    def read_checks(self, n_skipped: int) -> Iterator[Checked]:
        """Yield what becomes of the loading and of each check until one ends the process."""
        self._n_checks = 0
        reading, writing = os.pipe()
        with TemporaryFile() as printed, os.fdopen(reading, "rb", buffering=0) as events:
            # A session of its own, so that what the plug-in forks ends with it.
            process = subprocess.Popen(
                [*self._command, "--skip", str(n_skipped), "--lines", str(writing)],
                env=self._environment,
                pass_fds=(writing,),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
            )
            os.close(writing)
            try:
                yield from self._read_events(_read_lines(events, self._limit_s), printed, process)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _read_events(
        self, lines: Iterator[bytes | None], printed: IO[bytes], process: "subprocess.Popen[bytes]"
    ) -> Iterator[Checked]:
        name, n_printed = LOADS, 0
        for line in lines:
            if line is None:
                self.n_checked += name != LOADS
                yield Checked(name, f"is not over after {self._limit_s:g} s: it may be endless")
                return
            event = json.loads(line)
            name = event.get("begins", name)
            if "failure" in event:
                self._n_checks = event.get("n_checks", self._n_checks)
                self.n_checked += name != LOADS
                size = os.fstat(printed.fileno()).st_size
                is_noisy, n_printed = size > n_printed, size
                notes = (event["note"], "it prints: remove that" if is_noisy else "")
                yield Checked(name, event["failure"], "; ".join(filter(None, notes)))
                if not self.n_left_over:
                    return
        self.n_checked += name != LOADS
        yield Checked(name, f"ended the process ({_describe_end(process, printed)})")


def _describe_end(process: "subprocess.Popen[bytes]", printed: IO[bytes]) -> str:
    """Return how a process ended that should not have, with the last line that it printed."""
    printed.seek(0)
    last = printed.read().decode(errors="replace").strip().rpartition("\n")[2]
    return f"status {process.wait()}{': ' if last else ''}{last[:200]}"


def _read_lines(events: IO[bytes], limit_s: float) -> Iterator[bytes | None]:
    """Yield the lines of a pipe as they come, None once there is none for limit_s, and end."""
    pending = b""
    while True:
        is_ready, _, _ = select([events], [], [], limit_s)
        if not is_ready:
            yield None
            return
        read = events.read(MOST_BYTES)
        if not read:
            return
        *lines, pending = (pending + read).split(b"\n")
        yield from lines
