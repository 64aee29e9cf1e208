"""A child process at the other end of a line: it reads frames from stdin and writes to stdout."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from arena.games.line_messages import MAX_FRAME
from workers.lines.transport import FrameError, LineClosedError, LineSilentError
from workers.programs.child_process import ChildProcess, LongLineError

EXIT_S = 1.0


class ChildPipes:
    """Frames over the pipes of a child process: a text is a line, raw bytes follow its end."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        limit_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start the process in a folder; limit_s: how long it may leave its stdin unread.

        environ: of the player. Raises LineClosedError where it cannot be started.
        """
        self._limit_s, self._clock = limit_s, clock
        self._name = command[0]
        try:
            self._child = ChildProcess(command, environ, longest_line=MAX_FRAME, folder=folder)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise LineClosedError(f"{command[0]!r} cannot be started: {error}") from error

    def send(self, text: bytes) -> None:
        """Send a text and its end. Raises LineSilentError where the child does not read it.

        FrameError for one that writes without end instead.
        """
        child = self._child
        child.unsent += text + b"\n"
        until = self._clock() + self._limit_s
        # It may itself be stuck writing what nobody reads: both directions are served.
        while child.unsent:
            self._wait_for_more(until, f"has not read for {self._limit_s:g} s")
            # A frame and the raw bytes behind it may be waiting, and the begin of the next one.
            if child.n_unread > 3 * MAX_FRAME:
                raise FrameError(f"over {3 * MAX_FRAME} bytes before it was asked")

    def receive(self, limit_s: float) -> bytes:
        """Return the next line."""
        until, silence = self._clock() + limit_s, f"has said nothing for {limit_s:.1f} s"
        # What has come already is taken also where no time is left.
        self._child.move_bytes(0)
        try:
            while (line := self._child.take_line()) is None:
                self._wait_for_more(until, silence)
        except LongLineError:
            raise FrameError(f"a line of over {MAX_FRAME} bytes") from None
        return line

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        """Return the next n bytes."""
        until, silence = self._clock() + limit_s, f"has said nothing for {limit_s:.1f} s"
        self._child.move_bytes(0)
        while (raw := self._child.take_bytes(n)) is None:
            self._wait_for_more(until, silence)
        return raw

    def is_open(self) -> bool:
        """Say whether the process runs."""
        return self._child.is_running

    def close(self) -> None:
        """End the process: by the end of its input, then by force with what it has started."""
        self._child.kill(notice_s=EXIT_S)

    def _wait_for_more(self, until: float, silence: str) -> None:
        child = self._child
        if child.is_at_end:
            raise LineClosedError(f"{self._name}: {child.describe_death().told}")
        left_s = until - self._clock()
        if left_s <= 0:
            raise LineSilentError(f"{self._name} {silence}{child.quote_errors()}")
        child.move_bytes(left_s)
