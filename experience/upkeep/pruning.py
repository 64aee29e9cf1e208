"""The index of chunks: kept while a chunk may come again, so that it does not grow for ever.

A chunk comes again from its client, which the stream refuses for a day, or from the stream, to a
sink that goes on where another was killed. So rows go after some days, and only once the sink's
group holds nothing that is as old.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from redis.exceptions import ResponseError

from experience.models import ChunkIndex, Segment
from experience.stream import SINK, stream_key

PRUNED_AT_ONCE: Final = 20
"""Segments, of some thousand chunks each."""


def prune_index(client: Any, *, days: int, now: datetime) -> int:
    """Forget the chunks of segments older than so many days, 0: never; return of how many.

    client: of the stream.
    """
    if not days:
        return 0
    indexed = Segment.objects.filter(has_index=True, created_at__lt=now - timedelta(days=days))
    old = list(indexed.order_by("created_at")[:PRUNED_AT_ONCE])
    floors = {game: find_floor(client, game) for game in {segment.game for segment in old}}
    pks = [segment.pk for segment in old if _is_through(segment, floors)]
    ChunkIndex.objects.filter(segment__in=pks).delete()
    return Segment.objects.filter(pk__in=pks).update(has_index=False)


def find_floor(client: Any, game: str) -> int | None:
    """Return the time (ms) of the oldest entry that a sink may still hold; None where it has none.

    Raises RedisError.
    """
    key = stream_key(game)
    try:
        groups = {group["name"]: group for group in client.xinfo_groups(key)}
        first = client.xinfo_stream(key)["first-entry"]
    except ResponseError as error:
        if "no such key" in str(error):
            return None
        raise
    sink = groups.get(SINK.encode())
    if first is None or (sink is not None and not sink["pending"]):
        return None
    return _time_of(first[0].decode())


def _is_through(segment: Segment, floors: Mapping[str, int | None]) -> bool:
    floor = floors[segment.game]
    return floor is None or _time_of(segment.last_id) < floor


def _time_of(entry_id: str) -> int:
    return int(entry_id.partition("-")[0])
