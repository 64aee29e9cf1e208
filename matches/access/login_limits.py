"""When a password is not looked at any more: too many were wrong. Hashing one costs 0.3 s of CPU.

axes asks here before a password is hashed, at the admin and at the API alike:

- 5 wrong ones for one account from one address: that pair waits. Nobody else is shut out by it.
- 30 wrong ones from one address, whatever the accounts: that address waits.
- 50 wrong ones for one account, whatever the addresses: whoever has never logged in to it from
  where it is waits. The owner comes in from the usual place.
- EVALSITE_LOGIN_RATE passwords of one address within a minute, counted before they are hashed:
  what is written down after the hash does not hold off guesses that come all at once.

A quarter of an hour after the last wrong one (AXES_COOLOFF_TIME) all of it is forgotten;
`./run manage axes_reset` forgets it at once.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username, get_cool_off
from axes.models import AccessAttempt, AccessLog
from django.conf import settings
from django.db.models import QuerySet, Sum

from matches.access import rate_counter

WRONG_OF_ADDRESS: Final = 30
WRONG_OF_ACCOUNT: Final = 50
USUAL_FOR: Final = timedelta(days=90)
"""For so long an address from which an account was logged in to counts as its usual one."""

SHORTEST_WAIT: Final = timedelta(minutes=1)
"""Of who was too fast: passwords are counted by the minute."""


class LoginHandler(AxesDatabaseHandler):  # type: ignore[misc]  # axes has no types
    """Keeps wrong passwords where axes does, and counts them in three ways."""

    def is_locked(self, request: Any, credentials: dict[str, Any] | None = None) -> bool:
        """Say whether a password is refused unseen; count it if not."""
        if super().is_locked(request, credentials):
            return True
        limit: int = settings.EVALSITE_LOGIN_RATE
        # Counted before the hash: guesses that come all at once are not written down in time.
        return bool(limit) and rate_counter.count_event(f"login-{request.axes_ip_address}") > limit

    def get_failures(self, request: Any, credentials: dict[str, Any] | None = None) -> int:
        """Return how many were wrong of this account from this address; the limit if others are."""
        n_wrong: int = super().get_failures(request, credentials)
        limit: int = settings.AXES_FAILURE_LIMIT
        return limit if n_wrong < limit and _is_over_limit(request, credentials) else n_wrong


def find_wait(request: Any, credentials: dict[str, Any] | None, *, now: datetime) -> timedelta:
    """Return after how long a password that is refused unseen is looked at again, at the latest."""
    recent = AccessAttempt.objects.filter(attempt_time__gte=get_cool_off_threshold(request))
    account = get_client_username(request, credentials)
    of_address = recent.filter(ip_address=request.axes_ip_address)
    for attempts, limit in (
        (of_address.filter(username=account), settings.AXES_FAILURE_LIMIT),
        (of_address, WRONG_OF_ADDRESS),
        (recent.filter(username=account), WRONG_OF_ACCOUNT),
    ):
        if _sum_wrong(attempts) >= limit:
            last: datetime = attempts.latest("attempt_time").attempt_time
            return max(last + (get_cool_off(request) or timedelta()) - now, timedelta())
    return SHORTEST_WAIT


def _is_over_limit(request: Any, credentials: dict[str, Any] | None) -> bool:
    recent = AccessAttempt.objects.filter(attempt_time__gte=get_cool_off_threshold(request))
    if _sum_wrong(recent.filter(ip_address=request.axes_ip_address)) >= WRONG_OF_ADDRESS:
        return True
    account = get_client_username(request, credentials)
    if _sum_wrong(recent.filter(username=account)) < WRONG_OF_ACCOUNT:
        return False
    # The owner comes from an address of before: only strangers are shut out.
    logins = AccessLog.objects.filter(username=account, ip_address=request.axes_ip_address)
    return not logins.filter(attempt_time__gte=request.axes_attempt_time - USUAL_FOR).exists()


def _sum_wrong(attempts: QuerySet[Any]) -> int:
    return attempts.aggregate(n_wrong=Sum("failures_since_start"))["n_wrong"] or 0
