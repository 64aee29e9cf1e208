"""A shard of the queue as its clients see it: what waits, whether somebody comes, when to ring."""

from typing import NamedTuple

import redis

from arena.faststore import leases_key, queue_key, served_key, taken_key
from inference.connection import Command, Reply

RING_AGAIN_S = 0.2
"""Who is not the first of those that wait need not ring: only now and then, should it fail to."""
N_REPLIES = 3


class View(NamedTuple):
    """What a shard looked like at a moment."""

    n_taken: int
    """Requests that were ever taken off its list; begins anew with the fast store."""
    is_served: bool
    """Some gpu worker is there for it, now or within its last seconds."""
    n_waiting: int
    is_attended: bool
    """Somebody answers, or a gpu worker has called somebody to."""


class Place(NamedTuple):
    """Where a request was put: after so many taken ones, as the last of those that waited."""

    n_taken: int
    n_ahead: int

    def is_waiting(self, view: View) -> bool:
        """Return True if the request still waits in the list, unless the store was restarted."""
        n_gone = view.n_taken - self.n_taken
        return 0 <= n_gone < self.n_ahead and view.n_waiting > 0


def push(shard: int, raw: bytes, *, now_ms: float) -> list[Command]:
    """Return the commands that push a request and look at the shard; three replies come.

    The leases are read after the push: a drainer gives its own up only while nothing waits.
    """
    return _around(shard, ("RPUSH", queue_key(shard), raw), now_ms)


def look(shard: int, *, now_ms: float) -> list[Command]:
    """Return the commands that look at the shard; three replies come."""
    return _around(shard, ("LLEN", queue_key(shard)), now_ms)


def _around(shard: int, command: Command, now_ms: float) -> list[Command]:
    return [
        ("MGET", taken_key(shard), served_key(shard)),
        command,
        ("ZCOUNT", leases_key(shard), now_ms, "+inf"),
    ]


def read(replies: list[Reply]) -> View:
    """Return what was seen. Raises redis.ResponseError for a command that was refused."""
    for reply in replies:
        if isinstance(reply, redis.ResponseError):
            raise reply
    (n_taken, served), n_waiting, n_leases = replies
    return View(int(n_taken or 0), served is not None, n_waiting, n_leases > 0)


class Bell:
    """When one client rings for a shard.

    Where no gpu worker is, nobody is rung for: what waits is the first that one looks for.
    """

    def __init__(self) -> None:
        self._rung_at: dict[int, float] = {}

    def is_due(self, shard: int, view: View, *, now: float) -> bool:
        """Return True if this client is to ring now; it is taken for done.

        The first that waits always rings, all others only now and then: when many ask at once, one
        doorbell is enough, but the first may be a player that does not care.
        """
        if view.is_attended or not view.is_served or not view.n_waiting:
            return False
        is_first = view.n_waiting == 1
        if not is_first and now - self._rung_at.get(shard, float("-inf")) < RING_AGAIN_S:
            return False
        self._rung_at[shard] = now
        return True
