"""The fast store: a client for counters, and values that are made once for all who look."""

import functools
import logging
from collections.abc import Callable, Iterable, Mapping
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
        stored: tuple[str, Made] | None = _read_stored(cache.get(key), form)
        if stored is not None and stored[0] == mark:
            return stored[1]
        # One caller at a time makes it; all others get the value before.
        is_mine = cache.add(f"{key}.turn", 1, timeout=every_s)
        if stored is not None and not is_mine:
            return stored[1]
        value = make()
        # Kept much longer than it is fresh: while it is made again, all others get it.
        cache.set(key, (mark, value), timeout=KEPT_S)
    except RedisError as error:
        log.warning("%s is made for one viewer while the fast store is away: %s", key, error)
        return make()
    return value


def keep_or_make(
    marks: Mapping[str, str],
    make: Callable[[str], Made],
    *,
    form: Any,
    costs: Mapping[str, int],
    most: int,
) -> dict[str, Made]:
    """Return by key what is kept with its mark, and what make returns of the first others.

    All that is kept is read at once, for lists. Others are made until their costs reach `most`;
    of the keys beyond those nothing is returned.
    """
    try:
        stored = cache.get_many(marks)
    except RedisError as error:
        log.warning("%s values are made while the fast store is away: %s", len(marks), error)
        stored = {}
    entries = {key: _read_stored(value, form) for key, value in stored.items()}
    values = {key: entry[1] for key, entry in entries.items() if entry and entry[0] == marks[key]}
    missing = [key for key in marks if key not in values]
    new_values = {key: make(key) for key in _take_first(missing, costs, most)}
    try:
        cache.set_many(
            {key: (marks[key], value) for key, value in new_values.items()}, timeout=KEPT_S
        )
    except RedisError as error:
        log.warning("%s values are not kept: %s", len(new_values), error)
    return values | new_values


def _take_first(keys: Iterable[str], costs: Mapping[str, int], most: int) -> list[str]:
    """Return the first keys until their costs reach `most`, at least one."""
    chosen, total = list[str](), 0
    for key in keys:
        if total >= most:
            break
        chosen.append(key)
        total += costs[key]
    return chosen


def _read_stored(stored: object, form: Any) -> Any:
    """Return mark and value, None for what is not there or was made by another version."""
    try:
        return msgspec.convert(stored, type=tuple[str, form] | None)
    except msgspec.ValidationError:
        return None
