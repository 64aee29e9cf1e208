"""Finds servers and looks at them, by itself and when somebody asks for it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from gameservers.head.looking import look_at_all
from gameservers.head.servers import FoundServer, ServerBoard

EVERY_S = 15.0

# Returns all that every source names now; a source that fails names what it named before.
Find = Callable[[], Awaitable[Sequence[FoundServer]]]


class Discovering:
    """Asks the sources every 15 seconds, the servers every 5."""

    def __init__(self, board: ServerBoard, find: Find) -> None:
        self._board, self._find = board, find
        self._is_looking = asyncio.Lock()
        self.found_at = 0.0

    async def find(self) -> None:
        """Ask the sources, then look at every server. Calls at one time share what is found."""
        async with self._is_looking:
            self._board.note_found(await self._find(), now=time.time())
            self.found_at = time.time()
        await self.look()

    async def look(self) -> None:
        """Look at every server that listens."""
        await look_at_all(self._board)
