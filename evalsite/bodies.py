"""No request may bring more than a checkpoint has: refused before Django writes it all to disk."""

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from arena.checkpoints import MAX_BYTES

# What the other fields and the envelope of a form may take.
FORM_BYTES = 2**20

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Coroutine[Any, Any, None]]


class BoundedBodies:
    """An ASGI application that reads no longer bodies than this."""

    def __init__(self, application: Application, limit: int = MAX_BYTES + FORM_BYTES) -> None:
        """Keep the application behind it and the limit in bytes."""
        self.application, self.limit = application, limit

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer 413 for what is announced as too long; hang up on what turns out to be."""
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        n_bytes = int(announced) if announced.isdigit() else 0
        if n_bytes > self.limit:
            await self._refuse(send, n_bytes)
            return
        n_read = 0

        # Counted as well: a body that comes in chunks announces no length.
        async def receive_counted() -> Message:
            nonlocal n_read
            message = await receive()
            n_read += len(message.get("body", b""))
            return {"type": "http.disconnect"} if n_read > self.limit else message

        await self.application(scope, receive_counted, send)

    async def _refuse(self, send: Send, n_bytes: int) -> None:
        message = f"file: too large: a request of {n_bytes} bytes, at most {self.limit} are taken"
        body = json.dumps({"errors": [{"field": "file", "message": message}]}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 413, "headers": headers})
        await send({"type": "http.response.body", "body": body})
