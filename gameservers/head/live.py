"""WS /ws: what the dashboard shows, pushed to every viewer as one text that is made once."""

import asyncio
from typing import Any

import msgspec
from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from gameservers.head.access import is_same_origin

MAX_VIEWERS = 200


class Viewers:
    """Those who look; a slow one misses what came meanwhile and slows nobody."""

    def __init__(self) -> None:
        self._text = "{}"
        self._news = asyncio.Condition()
        self._n_viewers = 0

    async def show(self, view: dict[str, Any]) -> None:
        """Have every viewer see this."""
        async with self._news:
            self._text = msgspec.json.encode(view).decode()
            self._news.notify_all()

    async def watch(self, socket: WebSocket) -> None:
        """Push what is shown to one viewer until it leaves."""
        if not is_same_origin(socket):
            refusal = "a page of another site may not read this"
            await socket.send_denial_response(PlainTextResponse(refusal, 403))
            return
        if self._n_viewers >= MAX_VIEWERS:
            await socket.send_denial_response(PlainTextResponse("too many viewers", 503))
            return
        await socket.accept()
        self._n_viewers += 1
        pushing = asyncio.create_task(self._push_news(socket))
        try:
            while (await socket.receive())["type"] == "websocket.receive":
                pass  # a viewer has nothing to say
        finally:
            pushing.cancel()
            await asyncio.gather(pushing, return_exceptions=True)
            self._n_viewers -= 1

    async def _push_news(self, socket: WebSocket) -> None:
        sent = ""
        while True:
            async with self._news:
                await self._news.wait_for(lambda: self._text != sent)  # noqa: B023
                sent = self._text
            try:
                await socket.send_text(sent)
            except (WebSocketDisconnect, RuntimeError):
                return
