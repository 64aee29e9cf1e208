"""A viewer's socket that is given up when the viewer's side does not take what it is sent.

What is pushed waits with the socket of each viewer and leaves in its turn, so nobody waits for
anybody else. The web server waits for ever until a stopped browser reads on: so each message has a
time to leave in, and only so many may wait. A socket that is given up says to its consumer that it
is disconnected, so that the consumer leaves as always.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

GIVEN_UP = 1008
# Messages that may wait for one viewer: what is pushed in a few times the time to leave in.
MAX_WAITING = 100


class ViewerSocket:
    """The two directions of one socket, as ASGI has them, and what waits to leave."""

    def __init__(self, receive: Receive, send: Send, *, within_s: float) -> None:
        self._receive, self._send = receive, send
        self._within_s = within_s
        self._waiting: deque[Message] = deque()
        self._more = asyncio.Event()
        self._given_up = asyncio.Event()
        self._delivery: asyncio.Task[None] | None = None

    @property
    def is_given_up(self) -> bool:
        """True once the viewer did not take something in time."""
        return self._given_up.is_set()

    def post(self, message: Message) -> None:
        """Let a message leave in its turn, without waiting for it; the message is not changed."""
        if len(self._waiting) >= MAX_WAITING:
            self.give_up(f"{MAX_WAITING} messages wait for it")
        elif not self.is_given_up:
            self._waiting.append(message)
            self._more.set()

    def begin(self, messages: Sequence[Message]) -> None:
        """Let these leave first, then all that was posted before and is posted from now on."""
        self._waiting.extendleft(reversed(messages))
        self._delivery = asyncio.ensure_future(self._deliver_messages())

    def end(self) -> None:
        """Send no more of what waits."""
        self._waiting.clear()
        if self._delivery is not None:
            self._delivery.cancel()

    async def send(self, message: Message) -> None:
        """Send a message; one that does not leave in time ends the socket."""
        if self.is_given_up:
            return
        if message["type"] == "websocket.close":
            self.end()  # nothing may follow
        try:
            async with asyncio.timeout(self._within_s):
                await self._send(message)
        except TimeoutError:
            self.give_up(f"it took nothing for {self._within_s:g} s")

    async def receive(self) -> Message:
        """Return what the viewer sends next, or that it is gone once it was given up."""
        # Nothing comes from a browser that stopped reading: giving up must end the wait, too.
        incoming = asyncio.ensure_future(self._receive())
        giving_up = asyncio.ensure_future(self._given_up.wait())
        try:
            await asyncio.wait((incoming, giving_up), return_when=asyncio.FIRST_COMPLETED)
            if self.is_given_up:
                return {"type": "websocket.disconnect", "code": GIVEN_UP}
            return incoming.result()
        finally:
            incoming.cancel()
            giving_up.cancel()

    def give_up(self, reason: str) -> None:
        """Leave the viewer; it comes back by itself."""
        if not self.is_given_up:
            log.warning("viewer left: %s", reason)
            self._given_up.set()
            self._waiting.clear()

    async def _deliver_messages(self) -> None:
        try:
            while not self.is_given_up:
                while self._waiting:
                    await self.send(self._waiting.popleft())
                self._more.clear()
                await self._more.wait()
        except OSError:
            # ASGI's sign that the viewer is gone; who receives learns it, too.
            self._waiting.clear()
        except Exception:
            self.give_up("sending failed")
            raise
