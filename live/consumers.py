"""What a viewer's socket does: send a snapshot, pass on what is pushed, take one request only."""

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any, ParamSpec, TypeVar

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from redis.exceptions import RedisError

from live.line import Line, Receive, Send
from matches.clock import db_now
from matches.models import Leaderboard
from matches.services import broadcast
from matches.services.system import pushing

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
P = ParamSpec("P")
T = TypeVar("T")

MAX_REQUEST = 64
"""Longest request in characters; the one that is known needs 19."""

SEND_WITHIN_S = 5.0
"""A viewer whose side takes nothing for so long is left; it comes back by itself."""

MAX_REQUESTS, WITHIN_S = 10, 20.0
"""More requests than this within so long close the socket."""

TOO_BIG, BROKEN, TOO_MANY, NOT_FOUND, TRY_LATER = 1009, 1007, 1008, 4404, 1013


class Viewer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One viewer of something that is pushed to all of its viewers alike."""

    joined: Sequence[str] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the viewer away for now when the fast store is, which may fail anywhere below.

        A viewer that does not take what it is sent is left, not waited for.
        """
        line = Line(receive, send, within_s=SEND_WITHIN_S)
        try:
            await super().__call__(scope, line.receive, line.send)
        except RedisError as error:
            log.warning("viewer sent away while the fast store is away: %s", error)
            await line.send({"type": "websocket.close", "code": TRY_LATER})
        if line.is_given_up:
            await self._forget_channel()

    async def find(self) -> Sequence[str]:
        """Return the groups to join; none: what is asked for does not exist."""
        raise NotImplementedError

    async def snapshot(self) -> str:
        """Return what a viewer must know to begin with, and whenever it asks."""
        raise NotImplementedError

    async def welcome(self) -> None:
        """Send what comes once, after the first snapshot."""

    async def connect(self) -> None:
        """Join the viewers first, so that no push falls between it and the snapshot."""
        await self.accept()
        self._asked: deque[float] = deque(maxlen=MAX_REQUESTS)
        groups = await self.find()
        if not groups:
            await self.close(NOT_FOUND)
            return
        self.joined = groups
        for group in groups:
            await self.channel_layer.group_add(group, self.channel_name)
        await self.send(text_data=await self.snapshot())
        await self.welcome()

    async def disconnect(self, _: int) -> None:
        """Leave the groups; a fast store that is away has forgotten them by itself."""
        try:
            for group in self.joined:
                await self.channel_layer.group_discard(group, self.channel_name)
        except RedisError as error:
            log.warning("viewer not signed off: %s", error)

    async def receive(self, text_data: str | None = None, **_: bytes) -> None:
        """Answer the request for a snapshot; close on anything else."""
        refusal = self._refusal(text_data)
        if refusal is not None:
            await self.close(refusal)
        elif self.joined:
            await self.send(text_data=await self.snapshot())

    async def viewer_text(self, message: dict[str, Any]) -> None:
        """Pass on what was pushed."""
        await self.send(text_data=message["text"])

    async def _forget_channel(self) -> None:
        """Throw away what is still queued.

        The layer forgets a channel when a receiver is cancelled that waits, not one that has got a
        message: without this, all that was queued for the viewer would stay.
        """
        while True:
            try:
                async with asyncio.timeout(0):
                    await self.channel_layer.receive(self.channel_name)
            except TimeoutError:
                return

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


class LeaderboardConsumer(Viewer):
    """One viewer of one leaderboard."""

    board_id: int | None = None

    async def find(self) -> Sequence[str]:
        """Return the groups of the board and of the nodes."""
        self.board_id = await _in_thread(_board_id, self.scope["url_route"]["kwargs"]["name"])
        if self.board_id is None:
            return ()
        return broadcast.group(self.board_id), broadcast.NODES_GROUP

    async def snapshot(self) -> str:
        """Return the board as it was pushed last."""
        return await _in_thread(_snapshot, self.board_id)

    async def welcome(self) -> None:
        """Say who can play."""
        await self.send(text_data=await _in_thread(_nodes))


class SystemConsumer(Viewer):
    """One viewer of the whole system."""

    async def find(self) -> Sequence[str]:
        """Return the group of the system."""
        return (pushing.GROUP,)

    async def snapshot(self) -> str:
        """Return what control saw last."""
        return await _in_thread(_system)


async def _in_thread(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    found: T = await database_sync_to_async(read)(*args, **kwargs)
    return found


def _board_id(name: str) -> int | None:
    return Leaderboard.objects.filter(name=name).values_list("pk", flat=True).first()


def _snapshot(board_id: int | None) -> str:
    assert board_id is not None  # it was found, or the socket is closed
    return broadcast.snapshot(board_id, now=db_now())


def _nodes() -> str:
    return broadcast.nodes_message(now=db_now())


def _system() -> str:
    return pushing.text(now=db_now())
