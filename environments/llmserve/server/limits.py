"""What a client may take of the server: bytes of a body or message, and time without one."""

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

from server.sessions import IDLE_S

MAX_BYTES: Final = 2**20
TOO_LARGE, WS_TOO_LARGE, WS_IDLE = 413, 1009, 1001

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Limits:
    """An ASGI app in front of another: larger bodies are 413, and silent WebSockets end."""

    def __init__(self, app: App, max_bytes: int = MAX_BYTES, idle_s: float = IDLE_S) -> None:
        """Take the app behind."""
        self._app = app
        self._max_bytes = max_bytes
        self._idle_s = idle_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is within the limits."""
        if scope["type"] == "http":
            await self._serve_http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._serve_socket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, n_bytes, is_more = bytearray(), 0, True
        while is_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            chunk = message.get("body", b"")
            n_bytes += len(chunk)
            # The rest is read, though not kept: a client that still writes would see no answer.
            if n_bytes <= self._max_bytes:
                body += chunk
            is_more = message.get("more_body", False)
        if n_bytes > self._max_bytes:
            await _refuse(send, f"the body has {n_bytes} bytes, {self._max_bytes} at most")
            return
        await self._app(scope, _replay(bytes(body), receive), send)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_over = False

        async def watch() -> Message:
            nonlocal is_over
            message = await self._receive(receive, send)
            is_over = message["type"] == "websocket.disconnect"
            return message

        async def send_while_open(message: Message) -> None:
            # OpenEnv closes what has ended once more, which uvicorn logs as a fault of the app.
            if not is_over:
                await send(message)

        await self._app(scope, watch, send_while_open)

    async def _receive(self, receive: Receive, send: Send) -> Message:
        """Return the next message, or the end of a socket that says nothing or too much."""
        try:
            message = await asyncio.wait_for(receive(), self._idle_s)
        except TimeoutError:
            return await _hang_up(send, WS_IDLE, f"no message for {self._idle_s:g} s")
        content = (message.get("text") or "").encode() or message.get("bytes") or b""
        if len(content) > self._max_bytes:
            reason = f"a message of more than {self._max_bytes} bytes"
            return await _hang_up(send, WS_TOO_LARGE, reason)
        return message


def _replay(body: bytes, receive: Receive) -> Receive:
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return messages.pop() if messages else await receive()

    return replay


async def _hang_up(send: Send, code: int, reason: str) -> Message:
    await send({"type": "websocket.close", "code": code, "reason": reason})
    return {"type": "websocket.disconnect", "code": code}


async def _refuse(send: Send, reason: str) -> None:
    content = json.dumps({"detail": reason}).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": TOO_LARGE, "headers": headers})
    await send({"type": "http.response.body", "body": content})
