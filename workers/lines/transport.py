"""What carries frames: a line of text, and raw bytes behind it where the text says so."""

from typing import Protocol


class LineClosedError(Exception):
    """The other end is gone, or was never there; the message says what was tried."""


class LineSilentError(Exception):
    """Nothing came in time, though the other end is there."""


class FrameError(Exception):
    """What came is no frame: too large, or of another kind than was due."""


class Transport(Protocol):
    """One connection. Everything raises LineClosedError once the other end is gone."""

    def send(self, text: bytes) -> None:
        """Send the text of a frame. Raises LineSilentError where it is not taken in time."""
        ...

    def receive(self, limit_s: float) -> bytes | str:
        """Return the text of the next frame. Raises LineSilentError, FrameError."""
        ...

    def receive_bytes(self, n: int, limit_s: float) -> bytes:
        """Return the n raw bytes behind a text. Raises LineSilentError, FrameError."""
        ...

    def is_open(self) -> bool:
        """Say whether the other end is still there, as far as is known without a question."""
        ...

    def close(self) -> None:
        """End the connection, and a process that is its other end."""
        ...
