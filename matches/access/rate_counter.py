"""How often something happened within this minute: counted in the fast store, not without it."""

import logging
from math import ceil
from time import monotonic, time

from django.core.cache import cache
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

MINUTE_S = 60
AWAY_S = 5.0
"""For so long nothing is counted after the fast store did not answer: each try may take seconds."""
clock = time


class _Store:
    """Until when the fast store is not asked."""

    away_until_s = 0.0


def count_event(name: str) -> int:
    """Count one more; return how many there were in this minute, 0 while the store is away."""
    if monotonic() < _Store.away_until_s:
        return 0
    # A key for each minute, which expires by itself: nothing has to be set back.
    key = f"throttle:{name}:{int(clock() // MINUTE_S)}"
    try:
        cache.add(key, 0, timeout=2 * MINUTE_S)
        return int(cache.incr(key))
    except (RedisError, ValueError) as error:  # ValueError: the key has just expired
        _Store.away_until_s = monotonic() + AWAY_S
        log.warning("requests are not counted, the fast store is away: %s", error)
        return 0


def seconds_to_next_minute() -> int:
    """Return in how many seconds the next minute begins."""
    return ceil(MINUTE_S - clock() % MINUTE_S)
