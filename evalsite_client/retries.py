"""When a call is sent again, and after how long."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

AGAIN = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Answers after which the same call may fare better."""


@dataclass(frozen=True)
class Retries:
    """How often a call is sent in all, and how long is waited between; twice as long each time."""

    n_attempts: int = 5
    first_s: float = 0.25
    longest_s: float = 8.0
    patience_s: float = 90.0
    """A server that asks for more than this is not waited for."""

    def pause_s(
        self, n_tried: int, *, asked_s: float | None, draw: Callable[[], float]
    ) -> float | None:
        """Return for how long to wait before the next attempt, None to give up.

        n_tried: attempts so far; asked_s: what the server asks for, which is never cut short;
        draw: a random number in 0..1, so that many clients do not come back at once.
        """
        if n_tried >= self.n_attempts:
            return None
        doubled = min(self.first_s * 2 ** (n_tried - 1), self.longest_s)
        pause_s: float = doubled * (0.5 + 0.5 * draw())
        if asked_s is None:
            return pause_s
        return None if asked_s > self.patience_s else max(asked_s, pause_s)


NEVER = Retries(n_attempts=1)


def asked_s(header: str | None, *, now: datetime) -> float | None:
    """Return the seconds that a Retry-After asks for, as number or date; None for anything else."""
    if header is None:
        return None
    if header.strip().isdecimal():
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
