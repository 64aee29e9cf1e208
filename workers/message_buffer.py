"""What a player has to tell its parent, collected between two flushes."""

from collections.abc import Callable
from time import perf_counter
from typing import Protocol

from workers.wire import EndedMatch, Message, Progress

# So much play may be lost with a player; it is played again.
FLUSH_S = 0.005


class Sender(Protocol):
    """Where messages go: a Channel, or a list in tests."""

    def send(self, message: Message) -> None:
        """Send one message."""
        ...


class MessageBuffer:
    """Actions and endings that wait to be sent."""

    __slots__ = ("_clock", "_flush_at", "_sender", "acted", "ended")

    def __init__(self, sender: Sender, *, clock: Callable[[], float] = perf_counter) -> None:
        self._sender, self._clock = sender, clock
        self._flush_at = clock() + FLUSH_S
        self.acted: list[int] = []
        self.ended: list[EndedMatch] = []

    def flush(self) -> None:
        """Send what waits."""
        if self.acted or self.ended:
            self._sender.send(Progress(self.acted, self.ended))
            self.acted, self.ended = [], []
        self._flush_at = self._clock() + FLUSH_S

    def is_due(self) -> bool:
        """Return True when what waits should be sent."""
        return self._clock() >= self._flush_at

    def flush_if_due(self) -> None:
        """Send what waits if it is time."""
        if self.is_due():
            self.flush()

    def send_now(self, message: Message) -> None:
        """Send a message after all that waits."""
        self.flush()
        self._sender.send(message)
