"""What a player has to tell its parent, collected between two flushes."""

from typing import Protocol

from workers.wire import Block, EndedRow, Message, News


class Sender(Protocol):
    """Where messages go: a Channel, or a list in tests."""

    def send(self, message: Message) -> None:
        """Send one message."""
        ...


class Stream:
    """Actions and endings that wait to be sent."""

    __slots__ = ("_sender", "acted", "ended")

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self.acted: list[int] = []
        self.ended: list[EndedRow] = []

    def flush(self) -> None:
        """Send what waits."""
        if self.acted or self.ended:
            self._sender.send(News(self.acted, self.ended))
            self.acted, self.ended = [], []

    def tell(self, message: Message) -> None:
        """Send a message after all that waits."""
        self.flush()
        self._sender.send(message)

    def announce(self, agent: int, indices: list[int]) -> None:
        """Say that an agent is about to decide for these matches together."""
        self.tell(Block(agent, indices))
