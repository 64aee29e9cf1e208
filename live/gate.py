"""The gate of the sockets: on a closed site (EVALSITE_PUBLIC_READ=0) for who has logged in."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from channels.auth import AuthMiddlewareStack

from live.line import Receive, Send
from matches.access.visitors import may_read

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

LOGIN_NEEDED: Final = 4401
"""Code that the socket of a stranger is closed with."""


class ReadersOnly:
    """Lets those in who may read; who it is costs a look at the session on closed sites only."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner
        self._guarded: Application = AuthMiddlewareStack(self._guard)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Go on to the socket, or to the guard."""
        await (self._inner if may_read(None) else self._guarded)(scope, receive, send)

    async def _guard(self, scope: Scope, receive: Receive, send: Send) -> None:
        if may_read(scope["user"]):
            await self._inner(scope, receive, send)
            return
        await receive()
        # A code reaches a browser only over a socket that was accepted.
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": LOGIN_NEEDED})
