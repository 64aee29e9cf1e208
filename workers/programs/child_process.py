"""A child process that is spoken to over its pipes: a program that decides, or that plays a game.

It has the memory limit of its player and ends with it; what it writes to its standard error is
kept for the reason of its death.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE
from typing import IO, NamedTuple, cast

import psutil

from arena.games.showdown.installed import VARIABLE as SHOWDOWN
from workers.failures import OWN_SIGNALS, one_line

EXIT_S = 2.0
_KEPT_ERRORS = 2_000
_SHOWN_ERRORS = 200
_CHUNK = 1 << 16
_PR_SET_PDEATHSIG = 1
# What a program may know of its player's environment: not the address of the fast store.
INHERITED = (
    *("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"),
    SHOWDOWN,
)
FIXED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Looked up once: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


class LongLineError(Exception):
    """The child writes a line that is longer than a line may be."""


class Death(NamedTuple):
    """How a child ended; is_own_doing: nobody else may have killed it."""

    told: str
    is_own_doing: bool = True


class ChildProcess:
    """A program that was started, and what is under way to and from it."""

    def __init__(
        self,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        longest_line: int,
        folder: Path | None = None,
    ) -> None:
        """Start it. Raises OSError, ValueError and SubprocessError.

        environ: of the player; longest_line: bytes; folder: where it starts.
        """
        inherited = {variable: environ[variable] for variable in INHERITED if variable in environ}
        self._longest_line = longest_line
        # Killed with the player, also where nobody is left to do so; between fork and exec that is
        # one call, which takes no lock.
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**inherited, **FIXED},
            preexec_fn=_die_with_player,
            # Of its own: what it starts itself is ended with it.
            process_group=0,
        )
        process = self._process
        pipes = cast(tuple[IO[bytes], ...], (process.stdin, process.stdout, process.stderr))
        self._stdin, self._stdout, self._stderr = pipes
        self._selector = selectors.DefaultSelector()
        for pipe in pipes:
            os.set_blocking(pipe.fileno(), False)
        for pipe in pipes[1:]:
            self._selector.register(pipe, EVENT_READ)
        self.unsent = bytearray()
        self.is_at_end = False
        self._unread, self._errors = bytearray(), bytearray()

    @property
    def is_running(self) -> bool:
        """True until it has ended, or has begun to: one of several threads takes its time to."""
        if self._process.poll() is not None:
            return False
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self._process.pid).status() != psutil.STATUS_ZOMBIE
        return False

    @property
    def n_unread(self) -> int:
        """Bytes that it has said and nobody has taken."""
        return len(self._unread)

    def take_line(self) -> bytes | None:
        """Return the next line, None until it is whole. Raises LongLineError."""
        end = self._unread.find(b"\n")
        if max(end, len(self._unread) if end < 0 else 0) > self._longest_line:
            raise LongLineError(f"a line of more than {self._longest_line} bytes")
        if end < 0:
            return None
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def take_bytes(self, n: int) -> bytes | None:
        """Return the next n bytes, None until all of them are there."""
        if len(self._unread) < n:
            return None
        piece = bytes(self._unread[:n])
        del self._unread[:n]
        return piece

    def move_bytes(self, limit_s: float | None) -> None:
        """Wait until the program reads or says something, and take or give it."""
        if self.unsent and self._stdin not in self._selector.get_map():
            self._selector.register(self._stdin, EVENT_WRITE)
        for key, _ in self._selector.select(limit_s):
            if key.fileobj is self._stdin:
                self._give_bytes()
            elif chunk := os.read(key.fd, _CHUNK):
                self._keep(chunk, is_error=key.fileobj is self._stderr)
            else:
                self._selector.unregister(key.fileobj)
                self.is_at_end = self.is_at_end or key.fileobj is self._stdout

    def _give_bytes(self) -> None:
        try:
            del self.unsent[: os.write(self._stdin.fileno(), self.unsent[:_CHUNK])]
        except BrokenPipeError:
            # It reads no more: what it still says, or its end, is met when its output is read.
            self.unsent.clear()
        if not self.unsent:
            self._selector.unregister(self._stdin)

    def _keep(self, chunk: bytes, *, is_error: bool) -> None:
        if is_error:
            self._errors = (self._errors + chunk)[-_KEPT_ERRORS:]
        else:
            self._unread += chunk

    def describe_death(self) -> Death:
        """Return how the program ended that closed its output."""
        try:
            code = self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return Death(f"it closed its output{self.quote_errors()}")
        # Now: later another group might have this number.
        self._kill_group()
        with suppress(OSError):  # nothing is left to read
            self._keep(os.read(self._stderr.fileno(), _CHUNK), is_error=True)
        if code >= 0:
            return Death(f"it exited with {code}{self.quote_errors()}")
        how = f"it died by signal {-code} ({signal.strsignal(-code)})"
        return Death(how + self.quote_errors(), is_own_doing=-code in OWN_SIGNALS)

    def quote_errors(self) -> str:
        """Return the last line of its standard error, as the end of a reason."""
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return f": {one_line(lines[-1], _SHOWN_ERRORS)}" if lines else ""

    def kill(self, *, notice_s: float = 0.0) -> None:
        """End it, and what it has started; notice_s: so long it may take the end of its input."""
        if self._process.returncode is None:
            if notice_s:
                with suppress(OSError):
                    self._stdin.close()
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(notice_s)
            self._kill_group()
        self._selector.close()
        with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel, and ends after that
            self._process.wait(EXIT_S)
        for pipe in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):
                pipe.close()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _die_with_player() -> None:
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
