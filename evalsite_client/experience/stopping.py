"""How who plays is stopped: between two steps, so that what was seen is whole and can be sent."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Whether an end is wanted: seen between two steps, and at once by what only waits."""

    def __init__(self) -> None:
        """Begin without."""
        self.is_wanted = False
        self._is_waiting = self._is_ending = False

    def take_signal(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Want an end. Raises KeyboardInterrupt where that can be at once, or is wanted twice."""
        del number, frame
        is_second, self.is_wanted = self.is_wanted, True
        if is_second or self._is_waiting:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise KeyboardInterrupt where an end is wanted and has not begun."""
        if self.is_wanted and not self._is_ending:
            raise KeyboardInterrupt

    def begin_end(self) -> None:
        """Let the last things be done: only another signal interrupts them."""
        self._is_ending = True

    @contextmanager
    def interrupt_wait(self) -> Iterator[None]:
        """Let an end interrupt what is waited for inside; nothing inside may need its rest."""
        self._is_waiting = True
        try:
            self.check()
            yield
        finally:
            self._is_waiting = False


@contextmanager
def take_signals(stop: Stop) -> Iterator[None]:
    """Let SIGINT and SIGTERM want an end."""
    # None: another library handles it, which cannot be put back.
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in SIGNALS}
    for number in SIGNALS:
        signal.signal(number, stop.take_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
