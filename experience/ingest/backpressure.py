"""How far the readers of a stream are behind, and by how much uploaders must slow down."""

from collections.abc import Callable, Sequence
from typing import Final

from redis.asyncio import Redis

from experience import stream
from experience.errors import StreamError
from experience.stream import GroupLoad

MOST_WAITING_SINK: Final = 10_000
MOST_WAITING_LEARN: Final = 16
"""Chunks: a learner that is further behind would learn from what old versions did."""
KEPT_S: Final = 0.25
"""A reading holds so long: it costs two calls, and an upload one."""
KEEPS_UP: Final = 0.25
LEAST_KEPT: Final = 0.05

STUCK_AFTER_S: Final = 120.0
"""So long a learner may read nothing of what waits for it: one that hangs, or takes minutes for an
update, gives signs of life all the same, and would hold up the uploads of its game for ever."""

_kept: dict[str, tuple[float, tuple[str, ...], list[GroupLoad]]] = {}
_full_since: dict[tuple[str, str], tuple[str, float]] = {}
"""By game and group: what it has read last, and since when it is full and has read no more."""


async def read_loads(
    client: Redis, game: str, learners: Sequence[str], *, clock: Callable[[], float]
) -> list[GroupLoad]:
    """Return how far the sink and these groups are behind, read once in KEPT_S.

    learners: groups of runs that hold a lease; of a run that has stopped, whose group stays behind
    for ever, no upload would be taken any more. Those that are stuck are left out. Raises
    StreamError.
    """
    groups = (stream.SINK, *learners)
    until_s, read_groups, loads = _kept.get(game, (-1.0, (), []))
    if clock() < until_s and read_groups == groups:
        return loads
    loads = await stream.read_loads(client, game, groups)
    loads = [load for load in loads if not _is_stuck(game, load, now_s=clock())]
    _kept[game] = (clock() + KEPT_S, groups, loads)
    return loads


def _is_stuck(game: str, load: GroupLoad, *, now_s: float) -> bool:
    if load.name == stream.SINK:
        return False
    reached, since_s = _full_since.get((game, load.name), ("", now_s))
    if load.n_waiting < find_limit(load.name) or load.reached != reached:
        since_s = now_s
    _full_since[game, load.name] = (load.reached, since_s)
    return now_s - since_s >= STUCK_AFTER_S


def check_loads(loads: Sequence[GroupLoad]) -> None:
    """Raise StreamError where a group is behind by as much as it may be."""
    for load in loads:
        most = find_limit(load.name)
        if load.n_waiting >= most:
            raise StreamError(
                f"{load.n_waiting} chunks wait for the group {load.name!r}, at most {most} may: "
                "send less, or later"
            )


def find_keep_fraction(loads: Sequence[GroupLoad]) -> float:
    """Return how much of its data a client should send next, from LEAST_KEPT to 1.

    The slowest group decides, by the share of its limit that waits for it. Up to a quarter of the
    limit it keeps up: 1. From there the fraction falls evenly, to LEAST_KEPT where the limit is
    reached and uploads are refused. So with twice as many clients each comes to send about half.
    """
    fullest = max(load.n_waiting / find_limit(load.name) for load in loads)
    share = (1 - fullest) / (1 - KEEPS_UP)
    return round(min(1.0, max(LEAST_KEPT, share)), 3)


def find_limit(group: str) -> int:
    """Return how many chunks may wait for a group."""
    return MOST_WAITING_SINK if group == stream.SINK else MOST_WAITING_LEARN
