"""What a viewer's socket does: enter a room, begin with its snapshot, take one request only."""

import json
import logging
import time
from collections import deque
from collections.abc import MutableMapping, Sequence
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from redis.exceptions import RedisError

from live.rooms import Subscription, enter_room, leave_room
from live.viewer_socket import Receive, Send, ViewerSocket
from matches.board import broadcast
from matches.models import Leaderboard
from matches.operations.system import pushing
from matches.store import away
from matches.store.clock import db_now

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]

# Longest request in characters; the only one there is needs 19.
MAX_REQUEST = 64
# A viewer whose side takes nothing for so long is left; it comes back by itself.
SEND_WITHIN_S = 5.0
# More requests than this within so long close the socket.
MAX_REQUESTS, WITHIN_S = 10, 20.0
# Codes of closing: the last one has the page's script come back later.
TOO_BIG, BROKEN, TOO_MANY, NOT_FOUND, TRY_LATER = 1009, 1007, 1008, 4404, 1013


class Viewer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    """One viewer of something that is pushed to all of its viewers alike."""

    # No queue of its own: the room hears for all of its viewers.
    channel_layer_alias = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the viewer; send it away for now when fast store or database are away."""
        # A viewer that does not take what it is sent is left, not waited for.
        self._socket = ViewerSocket(receive, send, within_s=SEND_WITHIN_S)
        self._requests: deque[float] = deque(maxlen=MAX_REQUESTS)
        self._place = scope["path"]
        try:
            await super().__call__(scope, self._socket.receive, self._socket.send)
        except (RedisError, *away.ERRORS) as error:  # from anywhere below
            if not (isinstance(error, RedisError) or away.is_away(error)):
                raise
            log.warning("viewer sent away while a store is away: %s", error)
            await self._socket.send({"type": "websocket.close", "code": TRY_LATER})
        finally:
            leave_room(self._place, self._socket)
            self._socket.end()

    def find_subscription(self) -> Subscription | None:
        """Return what there is to see, read from the database; None: it does not exist."""
        raise NotImplementedError

    async def connect(self) -> None:
        """Enter the room first, so that no push falls between it and the snapshot."""
        self._room = enter_room(self._place, self._socket, self.find_subscription)
        is_open = await self._room.is_open()
        await self.accept()
        if is_open:
            self._socket.begin(await self._room.read_first_messages())
        else:
            await self.close(NOT_FOUND)

    async def receive(self, text_data: str | None = None, **_: bytes) -> None:
        """Answer the request for a snapshot; close on anything else."""
        refusal = self._check_request(text_data)
        if refusal is not None:
            await self.close(refusal)
        else:
            self._socket.post(await self._room.read_snapshot())

    def _check_request(self, text: str | None) -> int | None:
        """Return the code to close with, or None when the request is answered."""
        if text is None or len(text) > MAX_REQUEST:
            return TOO_BIG if text else BROKEN
        try:
            request = json.loads(text)
        except ValueError:
            return BROKEN
        if request != {"type": "snapshot"}:
            return BROKEN
        now_s = time.monotonic()
        self._requests.append(now_s)
        is_full = len(self._requests) == MAX_REQUESTS
        return TOO_MANY if is_full and now_s - self._requests[0] < WITHIN_S else None


class LeaderboardConsumer(Viewer):
    """One viewer of one leaderboard."""

    def find_subscription(self) -> Subscription | None:
        """Return the board as it was pushed last, who can play, and what is pushed of both."""
        name = self.scope["url_route"]["kwargs"]["name"]
        board_id = Leaderboard.objects.filter(name=name).values_list("pk", flat=True).first()
        if board_id is None:
            return None

        def read_board() -> Sequence[str]:
            now = db_now()
            return broadcast.read_snapshot(board_id, now=now), broadcast.format_nodes(now=now)

        return Subscription((broadcast.group(board_id), broadcast.NODES_GROUP), read_board)


class SystemConsumer(Viewer):
    """One viewer of the whole system."""

    def find_subscription(self) -> Subscription | None:
        """Return what control saw last."""
        return Subscription((pushing.GROUP,), lambda: (pushing.format_newest(now=db_now()),))
