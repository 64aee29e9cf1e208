"""A viewer's socket that is given up when the viewer's side does not take what it is sent.

The channel layer queues what is pushed to a viewer without a limit, and the web server waits for
ever until a stopped browser reads on. So each message has a time to leave in: what can queue up
meanwhile is bounded by it. A socket that is given up says to its consumer that it is disconnected,
so that the consumer leaves its groups as always.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

log = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

GIVEN_UP = 1008


class Line:
    """The two directions of one socket, as ASGI has them."""

    def __init__(self, receive: Receive, send: Send, *, within_s: float) -> None:
        self._receive, self._send = receive, send
        self._within_s = within_s
        self._given_up = asyncio.Event()

    @property
    def is_given_up(self) -> bool:
        """True once the viewer did not take something in time."""
        return self._given_up.is_set()

    async def send(self, message: Message) -> None:
        """Send; what does not leave in time ends the socket, later messages go nowhere."""
        if self.is_given_up:
            return
        try:
            async with asyncio.timeout(self._within_s):
                await self._send(message)
        except TimeoutError:
            log.warning("viewer left: it took nothing for %g s", self._within_s)
            self._given_up.set()

    async def receive(self) -> Message:
        """Return what the viewer sends next, or that it is gone once it was given up."""
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
