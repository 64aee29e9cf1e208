"""How often a caller may ask in a minute."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from matches.access import rate_counter
from matches.access.visitors import find_counted_address


class Throttle(BaseThrottle):
    """So many requests a minute: by user, without a login by address."""

    def allow_request(self, request: Request, view: object) -> bool:
        """Count the request; say whether it may go on."""
        del view
        user: Any = request.user
        if not user.is_authenticated:
            return _takes_stranger(request)
        limit: int = settings.EVALSITE_USER_RATE
        return not limit or rate_counter.count_event(f"user-{user.pk}") <= limit

    def wait(self) -> float | None:
        """Return in how many seconds the next request may come."""
        return rate_counter.seconds_to_next_minute()


def count_refused(request: Request) -> None:
    """Count a request whose login was refused like one without. Raises Throttled.

    DRF throttles after it has authenticated: who fails there would never be counted.
    """
    if not _takes_stranger(request):
        raise Throttled(wait=rate_counter.seconds_to_next_minute())


def _takes_stranger(request: Request) -> bool:
    django_request: HttpRequest = request._request
    limit: int = settings.EVALSITE_ANONYMOUS_RATE
    return (
        not limit
        or rate_counter.count_event(f"address-{find_counted_address(django_request)}") <= limit
    )
