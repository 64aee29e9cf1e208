"""A shard of the queue as its clients see it: what waits, whether somebody comes, when to ring."""

from typing import NamedTuple

import redis

from arena.faststore import leases_key, queue_key, served_key, taken_key
from inference.connection import Command, Reply

# Who is not the first of those that wait need not ring: only now and then, should it fail to.
RING_AGAIN_S = 0.2
N_REPLIES = 3


class ShardView(NamedTuple):
    """What a shard looked like at a moment."""

    # Requests that were ever taken off its list; begins anew with the fast store.
    n_taken: int
    # Some gpu worker is there for it, now or within its last seconds.
    is_served: bool
    n_waiting: int
    # Somebody answers, or a gpu worker has called somebody to.
    is_attended: bool


class QueuePosition(NamedTuple):
    """Where a request was put: how many had been taken before it, and how many waited."""

    n_taken: int
    n_ahead: int

    def is_waiting(self, view: ShardView) -> bool:
        """Return True if the request still waits in the list, unless the store was restarted."""
        # Below zero after a restart of the store: it counts from nothing again.
        n_gone = view.n_taken - self.n_taken
        return 0 <= n_gone < self.n_ahead and view.n_waiting > 0


def shard_of(checkpoint: str, n_shards: int) -> int:
    """Return the shard that serves a checkpoint, so that its weights lie on few workers."""
    return int(checkpoint[:8], 16) % n_shards


def push_commands(shard: int, raw: bytes, *, now_ms: float) -> list[Command]:
    """Return the commands that push a request and look at the shard; three replies come.

    The leases are read after the push: a drainer gives its own up only while nothing waits.
    """
    return _add_view(shard, ("RPUSH", queue_key(shard), raw), now_ms)


def look_commands(shard: int, *, now_ms: float) -> list[Command]:
    """Return the commands that look at the shard; three replies come."""
    return _add_view(shard, ("LLEN", queue_key(shard)), now_ms)


def _add_view(shard: int, command: Command, now_ms: float) -> list[Command]:
    return [
        ("MGET", taken_key(shard), served_key(shard)),
        command,
        ("ZCOUNT", leases_key(shard), now_ms, "+inf"),
    ]


def read_view(replies: list[Reply]) -> ShardView:
    """Return what was seen. Raises redis.ResponseError for a command that was refused."""
    for reply in replies:
        if isinstance(reply, redis.ResponseError):
            raise reply
    (n_taken, served), n_waiting, n_leases = replies
    return ShardView(int(n_taken or 0), served is not None, n_waiting, n_leases > 0)


class DoorbellRule:
    """When one client rings for a shard.

    Where no gpu worker is, nobody is rung for: what waits is the first that one looks for.
    """

    def __init__(self) -> None:
        self._rung_at: dict[int, float] = {}

    def is_due(self, shard: int, view: ShardView, *, now: float) -> bool:
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
