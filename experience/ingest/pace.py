"""How fast a game's uploads come to files, and how far the readers of its stream are behind."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from asgiref.sync import async_to_sync
from django.conf import settings
from redis.asyncio import Redis

from experience import stream
from experience.errors import StreamError
from experience.ingest.backpressure import find_limit
from experience.models import Segment
from experience.stream import GroupLoad

WINDOW: Final = timedelta(minutes=10)
FILE_S: Final = 60.0
"""So long the sink gathers at most before it writes a file: what came since then is in none yet."""
MOST_SEGMENTS: Final = 1_000
# A page waits for it.
TIMEOUTS: Final[dict[str, Any]] = {"socket_timeout": 1, "socket_connect_timeout": 1}


class Ingest(NamedTuple):
    """What came to files of late: steps, over how long, and so how many a second."""

    n_steps: int
    span_s: float

    @property
    def steps_per_s(self) -> float:
        """How many steps came a second."""
        return self.n_steps / self.span_s


class Reader(NamedTuple):
    """A reader of a stream: how many chunks wait for it, and how many may."""

    name: str
    n_waiting: int
    n_most: int


def measure_ingest(game: str, *, now: datetime) -> Ingest | None:
    """Return what came of a game in the last ten minutes, None where nothing did: one query."""
    # By the times of entries, which their ids begin with: the constraint on `last_id` is its index.
    since = f"{int((now - WINDOW).timestamp() * 1_000)}-0"
    newest = Segment.objects.filter(game=game, last_id__gte=since).order_by("-last_id")
    rows = list(newest.values_list("first_id", "last_id", "n_rows")[:MOST_SEGMENTS])
    if not rows:
        return None
    begun_s = min(_read_s(first) for first, _, _ in rows)
    ended_s = max(_read_s(rows[0][1]), now.timestamp() - FILE_S)
    return Ingest(sum(n for _, _, n in rows), max(ended_s - begun_s, 1.0))


def read_readers(game: str, groups: Sequence[str]) -> list[Reader]:
    """Return how far the sink and these groups are behind. Raises StreamError."""
    loads = async_to_sync(_read_loads)(game, (stream.SINK, *groups))
    return [Reader(load.name, load.n_waiting, find_limit(load.name)) for load in loads]


async def _read_loads(game: str, groups: Sequence[str]) -> list[GroupLoad]:
    if not settings.STREAM_REDIS_URL:
        raise StreamError(stream.MISSING)
    async with Redis.from_url(settings.STREAM_REDIS_URL, **TIMEOUTS) as client:
        return await stream.read_loads(client, game, groups)


def _read_s(entry_id: str) -> float:
    return int(entry_id.partition("-")[0]) / 1_000
