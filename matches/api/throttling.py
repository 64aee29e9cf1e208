"""How often a caller may ask: counted per minute in the fast store, and not at all without it."""

import logging
from collections.abc import Callable
from math import ceil
from time import monotonic, time
from typing import Any

from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

log = logging.getLogger(__name__)

WINDOW_S = 60
AWAY_S = 5.0
"""For so long nothing is counted after the fast store did not answer: each try may take seconds."""


class Throttle(BaseThrottle):
    """So many requests a minute: by user, without a login by address."""

    clock: Callable[[], float] = staticmethod(time)
    _away_until = 0.0

    def __init__(self) -> None:
        """Begin a request."""
        self._wait_s = 0

    def allow_request(self, request: Request, view: object) -> bool:
        """Count the request; say whether it may go on."""
        del view
        limit = _limit(request)
        now = self.clock()
        window = int(now // WINDOW_S)
        self._wait_s = ceil((window + 1) * WINDOW_S - now)
        return not limit or self._counted(f"throttle:{self._caller(request)}:{window}") <= limit

    def wait(self) -> float | None:
        """Return in how many seconds the next request may come."""
        return self._wait_s

    def _caller(self, request: Request) -> str:
        user: Any = request.user
        return f"user-{user.pk}" if user.is_authenticated else f"address-{self.get_ident(request)}"

    def _counted(self, key: str) -> int:
        """Return how many requests came within the window, 0 while the fast store is away."""
        if monotonic() < Throttle._away_until:
            return 0
        try:
            cache.add(key, 0, timeout=2 * WINDOW_S)
            return int(cache.incr(key))
        except (RedisError, ValueError) as error:  # ValueError: the key has just expired
            Throttle._away_until = monotonic() + AWAY_S
            log.warning("requests are not counted, the fast store is away: %s", error)
            return 0


def _limit(request: Request) -> int:
    if request.user.is_authenticated:
        return int(settings.EVALSITE_USER_RATE)
    return int(settings.EVALSITE_ANONYMOUS_RATE)
