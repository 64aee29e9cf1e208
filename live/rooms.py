"""Rooms: the viewers of one subject in this process, who share one subscription and its reads.

A room has one subscription, and passes each message on as it is. Viewers that ask at the same time
share one look at the database. So a viewer costs no more than what it is sent.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from live.viewer_socket import Message, ViewerSocket

log = logging.getLogger(__name__)

T = TypeVar("T")


class Subscription(NamedTuple):
    """What there is to see: groups to hear, and a way to read what a viewer begins with.

    read: the snapshot, then what else comes once; it uses the database.
    """

    groups: Sequence[str]
    read: Callable[[], Sequence[str]]


# Looks in the database for what is to be seen; None: there is no such thing.
Find = Callable[[], Subscription | None]


class SharedRead(Generic[T]):
    """A read for all who ask at the same time; nobody gets one that began before it asked."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._running: asyncio.Future[T] | None = None
        self._next: asyncio.Future[T] | None = None

    async def get(self) -> T:
        """Return what the next read finds, and raise what it raises."""

        async def read_after(running: asyncio.Future[T] | None) -> T:
            if running is not None:
                await asyncio.wait((running,))
            self._running, self._next = self._next, None
            return await self._read()

        if self._next is None:
            self._next = asyncio.ensure_future(read_after(self._running))
        # One who leaves does not end it for the others.
        return await asyncio.shield(self._next)


class Room:
    """The viewers of one thing: they come, hear the same, and go."""

    def __init__(self, find: Find) -> None:
        self.sockets: set[ViewerSocket] = set()
        self._beginning: SharedRead[Sequence[str]]
        self._opening = asyncio.ensure_future(self._open_room(find))
        self._hearing: asyncio.Task[None] | None = None
        # True once it hears no more, for whatever reason: who comes then gets a new room.
        self.is_over = False

    async def is_open(self) -> bool:
        """Say whether there is something to see, as soon as that is heard. Raises RedisError."""
        return await asyncio.shield(self._opening)

    async def read_first_messages(self) -> Sequence[Message]:
        """Return what a viewer begins with. Raises RedisError."""
        return [make_message(text) for text in await self._beginning.get()]

    async def read_snapshot(self) -> Message:
        """Return the whole as it is now. Raises RedisError."""
        return make_message((await self._beginning.get())[0])

    def close(self) -> None:
        """Hear no more."""

        def stop(_: asyncio.Future[bool]) -> None:
            if self._hearing is not None:
                self._hearing.cancel()

        # A subscription under way is made first, so that it can be undone.
        self._opening.add_done_callback(stop)

    async def _open_room(self, find: Find) -> bool:
        subscription = await database_sync_to_async(find)()
        if subscription is None:
            return False
        self._beginning = SharedRead(database_sync_to_async(subscription.read))
        layer = get_channel_layer()
        channel = await layer.new_channel()
        # Before anybody reads a snapshot: what is pushed while it is read must not be missed.
        for group in subscription.groups:
            await layer.group_add(group, channel)
        self._hearing = asyncio.ensure_future(self._hear_groups(subscription.groups, channel))

        def log_failure(hearing: asyncio.Task[None]) -> None:
            # Nobody awaits the task: its exception would be lost.
            if not hearing.cancelled() and (error := hearing.exception()):
                log.error("a room hears no more", exc_info=error)

        self._hearing.add_done_callback(log_failure)
        return True

    async def _hear_groups(self, groups: Sequence[str], channel: str) -> None:
        layer = get_channel_layer()
        try:
            while True:
                message = make_message((await layer.receive(channel))["text"])
                # Posting never waits: a viewer that is slow delays no other one.
                for socket in self.sockets:
                    socket.post(message)
        finally:
            self.is_over = True
            for socket in self.sockets:
                socket.give_up("nothing is heard any more")
            # A fast store that is away has forgotten the subscription by itself.
            with suppress(RedisError):
                for group in groups:
                    await layer.group_discard(group, channel)


# By event loop, since a task of one cannot be awaited in another, and by name.
ROOMS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Room]] = WeakKeyDictionary()


def list_rooms() -> dict[str, Room]:
    """Return the rooms of this event loop by name."""
    return ROOMS.setdefault(asyncio.get_running_loop(), {})


def enter_room(name: str, socket: ViewerSocket, find: Find) -> Room:
    """Return the room of this name with one more viewer, who hears all from now on."""
    rooms = list_rooms()
    room = rooms.get(name)
    if room is None or room.is_over:
        room = rooms[name] = Room(find)
    room.sockets.add(socket)
    return room


def leave_room(name: str, socket: ViewerSocket) -> None:
    """Let a viewer go; the last one closes the room."""
    rooms = list_rooms()
    room = rooms.get(name)
    # The room may be another one by now: the viewer's own is over and gone.
    if room is None or socket not in room.sockets:
        return
    room.sockets.remove(socket)
    if not room.sockets:
        del rooms[name]
        room.close()


def make_message(text: str) -> Message:
    """Return what the web server is to send."""
    return {"type": "websocket.send", "text": text}
