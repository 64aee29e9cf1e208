"""The line to a program beside its player: a child process that is spoken to over its pipes."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence

from arena.errors import (
    AgentDiedError,
    AgentSilentError,
    InvalidOutputError,
    UnusableProgramError,
)
from workers.programs.child_process import ChildProcess, LongLineError

MAX_LINE = 1 << 20
"""Bytes of an answer."""


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
        self._environ = environ
        self._opened_at = 0.0
        self._child: ChildProcess | None = None

    def open(self) -> None:
        """Start the program, once the one before has ended."""
        self.close()
        try:
            self._child = ChildProcess(self._command, self._environ, longest_line=MAX_LINE)
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
        while (line := _take_line(child)) is None:
            if child.is_at_end:
                death = child.describe_death()
                raise AgentDiedError(death.told, is_own_doing=death.is_own_doing)
            left_s = None if within_s is None else self._opened_at + within_s - self._clock()
            if left_s is not None and left_s <= 0:
                raise AgentSilentError(f"no answer within {within_s:g} s{child.quote_errors()}")
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


def _take_line(child: ChildProcess) -> bytes | None:
    try:
        return child.take_line()
    except LongLineError as error:
        raise InvalidOutputError(str(error)) from None
