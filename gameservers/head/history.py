"""The points of the plots, kept in the fast store: a head that starts again goes on with them."""

import logging
from collections.abc import Sequence

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from arena.acl import HEAD_HISTORY
from gameservers.head.stats import N_POINTS, Point

log = logging.getLogger(__name__)

LIMIT_S = 2.0


class History:
    """Writes each point behind the others; what a store that is away missed is written later."""

    def __init__(self, fast_url: str) -> None:
        self._store = Redis.from_url(
            fast_url, socket_timeout=LIMIT_S, socket_connect_timeout=LIMIT_S
        )
        self._is_behind = False

    async def read(self) -> list[Point]:
        """Return the points that are kept, none where they cannot be read."""
        try:
            raws = await self._store.lrange(HEAD_HISTORY, 0, -1)
        except (RedisError, OSError) as error:
            log.warning("the plots begin anew: %s", error)
            return []
        points = []
        for raw in raws[-N_POINTS:]:
            try:
                points.append(msgspec.json.decode(raw, type=Point))
            except msgspec.MsgspecError:
                log.warning("a point of another version of the head is left out")
        return points

    async def keep(self, points: Sequence[Point]) -> None:
        """Keep the last of the points, or all of them where the store was away."""
        new = points if self._is_behind else points[-1:]
        try:
            async with self._store.pipeline(transaction=True) as pipeline:
                if self._is_behind:
                    pipeline.ltrim(HEAD_HISTORY, 1, 0)  # begins anew: all of them follow
                pipeline.rpush(HEAD_HISTORY, *map(msgspec.json.encode, new))
                pipeline.ltrim(HEAD_HISTORY, -N_POINTS, -1)
                await pipeline.execute()
        except (RedisError, OSError) as error:
            if not self._is_behind:
                log.warning(
                    "the points of the plots are not kept until the store is back: %s", error
                )
            self._is_behind = True
        else:
            self._is_behind = False

    async def close(self) -> None:
        """Close the connection."""
        await self._store.aclose()
