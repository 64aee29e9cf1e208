"""Doorbells of players: passed on at once, but not more often than an honest player rings."""

from collections.abc import Callable

Ring = Callable[[int, str], None]

# A shard is rung for once per stay of a drainer, which is some times a second at most.
PER_S = 20.0
BURST = 40.0


def ignore_doorbell(shard: int, lease: str) -> None:
    """Pass nothing on: for pools that play no networks of the gpu queue."""
    del shard, lease


class TokenBucket:
    """How often one player may ring: a bucket that fills with time."""

    def __init__(self, *, now: float) -> None:
        self._left, self._at = BURST, now

    def take_token(self, now: float) -> bool:
        """Return True if one more ring is allowed now."""
        self._left = min(BURST, self._left + (now - self._at) * PER_S)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
