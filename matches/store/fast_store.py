"""The fast store: a client for counters, and values that are made once for all who look."""

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.core.cache import cache
from redis import Redis
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

Made = TypeVar("Made")

KEPT_S = 86_400


@functools.cache
def get_client() -> "Redis":
    """Return a client whose calls end soon; they raise RedisError while the store is away."""
    return Redis.from_url(settings.FAST_REDIS_URL, **settings.FAST_TIMEOUTS)


def get_or_make(
    key: str, mark: str, make: Callable[[], Made], *, form: Any, every_s: float
) -> Made:
    """Return what make returns, made anew when the mark has changed and every_s have passed.

    While somebody makes it, all others get the one before. mark: of what it is made from, such as
    the hash of the results; one that always differs lets it be made every_s. form: the type of
    what is made, as JSON can carry it. Without the fast store it is made for whoever asks.
    """
    try:
        before: tuple[str, Made] | None = _read_stored(cache.get(key), form)
        if before is not None and before[0] == mark:
            return before[1]
        # One caller at a time makes it; all others get the value before.
        is_mine = cache.add(f"{key}.turn", 1, timeout=every_s)
        if before is not None and not is_mine:
            return before[1]
        made = make()
        # Kept much longer than it is fresh: while it is made again, all others get it.
        cache.set(key, (mark, made), timeout=KEPT_S)
    except RedisError as error:
        log.warning("%s is made for one viewer while the fast store is away: %s", key, error)
        return make()
    return made


def _read_stored(stored: object, form: Any) -> Any:
    """Return mark and value, None for what is not there or was made by another version."""
    try:
        return msgspec.convert(stored, type=tuple[str, form] | None)
    except msgspec.ValidationError:
        return None
