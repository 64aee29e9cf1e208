"""When a play node has to stop: its answer to signals, in the place of Celery's.

Celery's cold shutdown wants to end the running task through the pool, which the solo pool cannot:
it would raise in the middle of an order. Here a signal only notes what is wanted; the order in play
ends itself, and Celery's loop ends after it.
"""

import signal
from enum import IntEnum
from types import FrameType
from typing import Any

from celery.worker import state

_flags: Any = state


class Stop(IntEnum):
    """How soon."""

    NO = 0
    SOON = 1
    NOW = 2


class StopSignals:
    """Listens to SIGTERM and Ctrl-C (soon; a second Ctrl-C: now) and to SIGQUIT (now)."""

    def __init__(self) -> None:
        self._stop = Stop.NO

    def __call__(self) -> Stop:
        """Return how soon to stop."""
        return self._stop

    def install_handlers(self) -> None:
        """Take over the signals; to be called in the main thread once Celery has set its own."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._note_signal)

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        is_repeated = number == signal.SIGINT and self._stop >= Stop.SOON
        is_now = number == signal.SIGQUIT or is_repeated
        self._stop = max(self._stop, Stop.NOW if is_now else Stop.SOON)
        _flags.should_stop = 0  # the exit code with which Celery's loop ends
