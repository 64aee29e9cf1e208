"""The stream of experience: whether it answers and has room. What lies in it: `experience`."""

import functools
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from redis import Redis

MB = 2**20
FULL_SHARE = 0.95
"""A chunk may be larger than what is left of the memory."""


@dataclass(frozen=True)
class Memory:
    """How much of its memory the server uses, in bytes; most is 0 where nothing bounds it.

    is_evicting: what is sent drops other keys instead of being refused.
    """

    used: int
    most: int
    is_evicting: bool = False

    @property
    def is_full(self) -> bool:
        """Return whether what is sent to it is refused, or soon will be."""
        return not self.is_evicting and 0 < FULL_SHARE * self.most <= self.used

    def __str__(self) -> str:
        """Return it as people read it."""
        of_most = f" of {self.most // MB:,}" if self.most else ""
        return f"{self.used // MB:,}{of_most} MB of memory used"


@functools.cache
def get_client() -> "Redis":
    """Return a client whose calls end soon; they raise RedisError while the server is away."""
    return Redis.from_url(settings.STREAM_REDIS_URL, **settings.FAST_TIMEOUTS)


def read_memory(client: "Redis") -> Memory:
    """Return how full this server, or one of the other two, is. Raises RedisError."""
    facts: dict[str, Any] = client.info("memory")
    # Only a policy of all keys always finds one to drop; a server of another make may tell of none.
    is_evicting = str(facts.get("maxmemory_policy", "")).startswith("allkeys-")
    return Memory(int(facts["used_memory"]), int(facts.get("maxmemory", 0)), is_evicting)
