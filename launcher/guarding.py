"""Keeps the supervisor alive: `python -m launcher.guarding FOLDER CONFIG` restarts supervisord.

Without it, what ended supervisord left broker, web and monitor behind with nobody to start the rest
again. A full disk did so within 3 s: a log could not be written, and neither could the complaint
about that, which went to a file on the same disk.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOBase
from pathlib import Path
from typing import TextIO

from supervisor import loggers, supervisord

from launcher.supervision import kill_leftovers

SUPERVISE = "--supervise"
# The exit status of supervisord when its configuration cannot be used: again would not help.
WRONG_CONFIG = 2
RESTART_AFTER_S = 1.0

_roll_over = loggers.RotatingFileHandler.doRollover


class LossyStream(TextIOBase):
    """A stream of complaints; what cannot be written is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
            self._stream.flush()
        return len(text)


def roll_over_if_possible(handler: loggers.RotatingFileHandler) -> None:
    """Begin a new log file when the old one is long enough; on a full disk keep the old one."""
    # Supervisord catches what fails while it writes a line, but not here.
    try:
        _roll_over(handler)
    except (OSError, ValueError):
        # Closing it wrote the rest of a line in vain: from then on it is a closed file.
        handler.closed = handler.stream.closed
        with suppress(OSError):
            handler.reopen()


def supervise(config: str) -> None:
    """Be supervisord; what it cannot log does not end it."""
    sys.stdout = LossyStream(sys.stdout)
    sys.stderr = LossyStream(sys.stderr)
    loggers.RotatingFileHandler.doRollover = roll_over_if_possible
    supervisord.main(["-n", "-c", config])


def guard(var: Path, config: str) -> int:
    """Run supervisord until it is told to end; whatever else ends it, start it again."""
    command = [sys.executable, "-m", "launcher.guarding", SUPERVISE, config]
    while (status := subprocess.call(command)) not in {0, WRONG_CONFIG}:
        # What it left behind ends first: a second set of programs would find their ports taken.
        n_ended = kill_leftovers(var)
        LossyStream(sys.stderr).write(
            f"{time.strftime('%F %T')} the supervisor ended with status {status}; {n_ended} "
            "processes that it left behind were ended, it starts again\n"
        )
        time.sleep(RESTART_AFTER_S)
    return status


def main(arguments: Sequence[str]) -> int:
    """Guard, or be what is guarded."""
    if arguments[0] == SUPERVISE:
        supervise(arguments[1])
        return 0
    return guard(Path(arguments[0]), arguments[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
