"""Addresses of the sockets, and the gate before them on a closed site (EVALSITE_PUBLIC_READ=0)."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from channels.auth import AuthMiddlewareStack
from django.urls import re_path

from live.consumers import LeaderboardConsumer, SystemConsumer
from live.viewer_socket import Receive, Send
from matches.access.visitors import may_read

Scope = MutableMapping[str, Any]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# The code that the socket of a stranger is closed with.
LOGIN_NEEDED: Final = 4401

websocket_urlpatterns = [
    # As a SlugField allows; a longer name cannot exist and is not looked up.
    re_path(r"^ws/leaderboards/(?P<name>[-\w]{1,80})/$", LeaderboardConsumer.as_asgi()),
    re_path(r"^ws/system/$", SystemConsumer.as_asgi()),
]


class ReadersOnly:
    """Lets those in who may read."""

    def __init__(self, inner: Application) -> None:
        async def guard(scope: Scope, receive: Receive, send: Send) -> None:
            if may_read(scope["user"]):
                await inner(scope, receive, send)
                return
            await receive()
            # A code reaches a browser only over a socket that was accepted.
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": LOGIN_NEEDED})

        self._inner: Application = inner
        self._guarded: Application = AuthMiddlewareStack(guard)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Go on to the socket, or to the guard."""
        # Who a viewer is costs a look at the session: on an open site nobody pays for it.
        await (self._inner if may_read(None) else self._guarded)(scope, receive, send)
