"""The fast store without Django's cache around it: sums, and what gpu workers say of themselves."""

from functools import cache

from django.conf import settings
from redis import Redis


@cache
def store() -> "Redis":
    """Return a client whose calls end soon; they raise RedisError while the store is away."""
    return Redis.from_url(settings.FAST_REDIS_URL, **settings.FAST_TIMEOUTS)
