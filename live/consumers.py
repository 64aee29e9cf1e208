"""What a viewer's socket does: send a snapshot, pass on deltas, take one request only."""

import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, ParamSpec, TypeVar

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from redis.exceptions import RedisError

from matches.clock import db_now
from matches.models import Leaderboard
from matches.services import broadcast

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
P = ParamSpec("P")
T = TypeVar("T")

MAX_REQUEST = 64
"""Longest request in characters; the one that is known needs 19."""

MAX_REQUESTS, WITHIN_S = 10, 20.0
"""More requests than this within so long close the socket."""

TOO_BIG, BROKEN, TOO_MANY, NOT_FOUND, TRY_LATER = 1009, 1007, 1008, 4404, 1013


class LeaderboardConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One viewer of one leaderboard."""

    board_id: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the viewer away for now when the fast store is, which may fail anywhere below."""
        try:
            await super().__call__(scope, receive, send)
        except RedisError as error:
            log.warning("viewer sent away while the fast store is away: %s", error)
            await send({"type": "websocket.close", "code": TRY_LATER})

    async def connect(self) -> None:
        """Join the board's viewers first, so that no delta falls between it and the snapshot."""
        await self.accept()
        self._asked: deque[float] = deque(maxlen=MAX_REQUESTS)
        board_id = await _in_thread(_board_id, self.scope["url_route"]["kwargs"]["name"])
        if board_id is None:
            await self.close(NOT_FOUND)
            return
        self.board_id = board_id
        for group in (broadcast.group(board_id), broadcast.NODES_GROUP):
            await self.channel_layer.group_add(group, self.channel_name)
        await self._send_snapshot()
        await self.send(text_data=await _in_thread(_nodes))

    async def disconnect(self, _: int) -> None:
        """Leave the groups; a fast store that is away has forgotten them by itself."""
        if self.board_id is None:
            return
        try:
            for group in (broadcast.group(self.board_id), broadcast.NODES_GROUP):
                await self.channel_layer.group_discard(group, self.channel_name)
        except RedisError as error:
            log.warning("viewer not signed off: %s", error)

    async def receive(self, text_data: str | None = None, **_: bytes) -> None:
        """Answer the request for a snapshot; close on anything else."""
        refusal = self._refusal(text_data)
        if refusal is not None:
            await self.close(refusal)
        else:
            await self._send_snapshot()

    async def board_text(self, message: dict[str, Any]) -> None:
        """Pass on what was pushed."""
        await self.send(text_data=message["text"])

    async def _send_snapshot(self) -> None:
        if self.board_id is not None:
            await self.send(text_data=await _in_thread(_snapshot, self.board_id))

    def _refusal(self, text: str | None) -> int | None:
        """Return the code to close with, or None when the request is answered."""
        if text is None or len(text) > MAX_REQUEST:
            return TOO_BIG if text else BROKEN
        try:
            request = json.loads(text)
        except ValueError:
            return BROKEN
        if request != {"type": "snapshot"}:
            return BROKEN
        return self._too_often(time.monotonic())

    def _too_often(self, now_s: float) -> int | None:
        self._asked.append(now_s)
        is_full = len(self._asked) == MAX_REQUESTS
        return TOO_MANY if is_full and now_s - self._asked[0] < WITHIN_S else None


async def _in_thread(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    found: T = await database_sync_to_async(read)(*args, **kwargs)
    return found


def _board_id(name: str) -> int | None:
    return Leaderboard.objects.filter(name=name).values_list("pk", flat=True).first()


def _snapshot(board_id: int) -> str:
    return broadcast.snapshot(board_id, now=db_now())


def _nodes() -> str:
    return broadcast.nodes_message(now=db_now())
