"""A child process at the other end of a line: it reads frames from stdin and writes to stdout."""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from arena.games.line_messages import MAX_FRAME
from workers.lines.transport import FrameError, LineClosedError, LineSilentError

_CHUNK = 1 << 18
_PR_SET_PDEATHSIG = 1
_EXIT_S = 1.0


class ChildPipes:
    """Frames over the pipes of a child process: a text is a line, raw bytes follow its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        limit_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the process in a folder; limit_s: how long it may leave its stdin unread.

        Raises LineClosedError where it cannot be started.
        """
        self._limit_s, self._clock = limit_s, clock
        self._received = bytearray()
        self._name = command[0]
        try:
            self._child = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                preexec_fn=_die_with_player,
            )
        except OSError as error:
            raise LineClosedError(f"{command[0]!r} cannot be started: {error}") from error
        if self._child.stdin is None or self._child.stdout is None:
            raise LineClosedError(f"{command[0]!r} has no pipes")
        self._write_to, self._read_from = self._child.stdin.fileno(), self._child.stdout.fileno()
        os.set_blocking(self._write_to, False)
        os.set_blocking(self._read_from, False)

    def send(self, text: bytes) -> None:
        """Send a text and its end. Raises LineSilentError where the child does not read it."""
        left = memoryview(text + b"\n")
        until = self._clock() + self._limit_s
        while left:
            # It may itself be stuck writing what nobody reads: both directions are served.
            readable, writable, _ = select.select(
                [self._read_from], [self._write_to], [], max(until - self._clock(), 0.0)
            )
            if readable:
                self._read_chunk()
            if writable:
                left = left[self._write_chunk(left) :]
            elif not readable:
                raise LineSilentError(f"{self._name} has not read for {self._limit_s:g} s")

    def receive(self, limit_s: float) -> bytes:
        """Return the next line."""
        until, start = self._clock() + limit_s, 0
        while (end := self._received.find(b"\n", start)) < 0:
            start = len(self._received)
            if start > MAX_FRAME:
                raise FrameError(f"a line of over {MAX_FRAME} bytes")
            self._wait_for_more(until, limit_s)
        return self._take(end + 1)[:-1]

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        """Return the next n bytes."""
        until = self._clock() + limit_s
        while len(self._received) < n:
            self._wait_for_more(until, limit_s)
        return self._take(n)

    def is_open(self) -> bool:
        """Say whether the process runs."""
        return self._child.poll() is None

    def close(self) -> None:
        """End the process: by the end of its input, or by force."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self._child.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _take(self, n: int) -> bytes:
        taken = bytes(self._received[:n])
        del self._received[:n]
        return taken

    def _wait_for_more(self, until: float, limit_s: float) -> None:
        readable, _, _ = select.select([self._read_from], [], [], max(until - self._clock(), 0.0))
        if not readable:
            raise LineSilentError(f"{self._name} has said nothing for {limit_s:g} s")
        self._read_chunk()

    def _read_chunk(self) -> None:
        if not (chunk := os.read(self._read_from, _CHUNK)):
            raise LineClosedError(f"{self._name} {self._fate()}")
        self._received += chunk

    def _write_chunk(self, left: memoryview) -> int:
        try:
            return os.write(self._write_to, left[:_CHUNK])
        except BrokenPipeError:
            raise LineClosedError(f"{self._name} {self._fate()}") from None

    def _fate(self) -> str:
        try:
            status = self._child.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            return "has closed its end"
        return f"was ended by signal {-status}" if status < 0 else f"has exited with {status}"


def _die_with_player() -> None:
    """Have the kernel end the child when its player dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
