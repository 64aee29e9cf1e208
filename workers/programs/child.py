"""A program beside its player: a child process that is spoken to over its pipes.

It has the memory limit of its player and ends with it; what it writes to its standard error is
kept for the reason of its death.
"""

import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from selectors import EVENT_READ, EVENT_WRITE
from typing import IO, cast

from arena.errors import AgentDiedError, InvalidOutputError, UnusableProgramError
from workers.failures import OWN_SIGNALS, one_line

MAX_LINE = 1 << 20
"""Bytes of an answer."""
EXIT_S = 2.0
_KEPT_ERRORS = 2_000
_SHOWN_ERRORS = 200
_CHUNK = 1 << 16
_PR_SET_PDEATHSIG = 1
# What a program may know of its player's environment: not the address of the fast store.
INHERITED = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ")
FIXED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Looked up once: between fork and exec nothing may be loaded.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


class ChildLine:
    """The line to a program that is started here."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environ: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """name: as the list has it; environ: of the player."""
        self._name, self._command, self._clock = name, command, clock
        kept = {variable: environ[variable] for variable in INHERITED if variable in environ}
        self._environment = {**kept, **FIXED}
        self._opened_at = 0.0
        self._child: _Child | None = None

    def open(self) -> None:
        """Start the program, once the one before has ended."""
        self.close()
        try:
            self._child = _Child(self._command, self._environment)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            why = f"program {self._name!r} cannot be started: {error}"
            raise UnusableProgramError(why) from error
        self._opened_at = self._clock()

    def send(self, text: str) -> None:
        """Send one line."""
        # Sent by whoever receives: a program that writes much before it reads must not wait for us.
        if self._child is not None:
            self._child.unsent += text.encode() + b"\n"

    def receive(self, *, within_s: float | None = None) -> str:
        """Return the next line."""
        child = self._child
        if child is None:
            raise AgentDiedError(f"program {self._name!r} does not run")
        while (line := child.take_line()) is None:
            if child.is_at_end:
                raise child.describe_death()
            left_s = None if within_s is None else self._opened_at + within_s - self._clock()
            if left_s is not None and left_s <= 0:
                raise AgentDiedError(f"no answer within {within_s:g} s{child.quote_errors()}")
            child.move_bytes(left_s)
        try:
            return line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            raise InvalidOutputError(f"a line that is no UTF-8: {line[:60]!r}") from None

    def close(self) -> None:
        """End the program."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()


class _Child:
    """A program that was started, and what is under way to and from it."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it. Raises OSError, ValueError and SubprocessError."""
        # Killed with the player, also where nobody is left to do so. Nothing can be locked in the
        # fork: a player has one thread.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            preexec_fn=_die_with_player,
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

    def take_line(self) -> bytes | None:
        """Return the next line, None until it is whole. Raises InvalidOutputError."""
        end = self._unread.find(b"\n")
        if max(end, len(self._unread) if end < 0 else 0) > MAX_LINE:
            raise InvalidOutputError(f"a line of more than {MAX_LINE} bytes")
        if end < 0:
            return None
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

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

    def describe_death(self) -> AgentDiedError:
        """Return how the program ended that closed its output."""
        try:
            code = self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return AgentDiedError(f"it closed its output{self.quote_errors()}")
        with suppress(OSError):  # nothing is left to read
            self._keep(os.read(self._stderr.fileno(), _CHUNK), is_error=True)
        if code >= 0:
            return AgentDiedError(f"it exited with {code}{self.quote_errors()}")
        how = f"it died by signal {-code} ({signal.strsignal(-code)})"
        return AgentDiedError(how + self.quote_errors(), is_own_doing=-code in OWN_SIGNALS)

    def quote_errors(self) -> str:
        """Return the last line of its standard error, as the end of a reason."""
        lines = self._errors.decode(errors="replace").strip().splitlines()
        return f": {one_line(lines[-1], _SHOWN_ERRORS)}" if lines else ""

    def kill(self) -> None:
        """End it."""
        self._process.kill()
        self._selector.close()
        with suppress(subprocess.TimeoutExpired):  # it hangs in the kernel, and ends after that
            self._process.wait(EXIT_S)
        for pipe in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):
                pipe.close()


def _die_with_player() -> None:
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
