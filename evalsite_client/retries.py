"""When a call is sent again, after how long, and by which clock that is measured."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeVar

from urllib3 import Retry
from urllib3.exceptions import InvalidHeader

from evalsite_client.errors import ProblemError, UnreachableError

T = TypeVar("T")

# A server that is restarted while something is waited for, such as for an update, is waited for so
# long.
AWAY_S: Final = 120.0
# Answers after which the same call may fare better.
PASSING_STATUSES = frozenset(
    {
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)


@dataclass(frozen=True)
class Clock:
    """How a client measures time and sleeps; tests give their own, and so need not sleep."""

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


# Not urllib3's own Retry: it sleeps by no clock of ours, takes any wait that a server asks for,
# and knows neither a write that meets its first attempt nor a file that came with a wrong hash.
@dataclass(frozen=True)
class Retries:
    """How often a call is sent in all, and how long is waited between; twice as long each time.

    patience_s: a server that asks for a longer wait is not waited for.
    """

    n_attempts: int = 5
    first_s: float = 0.25
    longest_s: float = 8.0
    patience_s: float = 90.0

    def compute_pause_s(
        self, n_tried: int, *, asked_s: float | None, draw: Callable[[], float]
    ) -> float | None:
        """Return for how long to wait before the next attempt, None to give up.

        n_tried: attempts so far; asked_s: what the server asks for, which is never cut short;
        draw: a random number in 0..1, so that many clients do not come back at once.
        """
        if n_tried >= self.n_attempts:
            return None
        doubled_s = min(self.first_s * 2 ** (n_tried - 1), self.longest_s)
        pause_s: float = doubled_s * (0.5 + 0.5 * draw())
        if asked_s is None:
            return pause_s
        return None if asked_s > self.patience_s else max(asked_s, pause_s)


NEVER = Retries(n_attempts=1)


def read_retry_after(header: str | None) -> float | None:
    """Return the seconds that a Retry-After asks for, as number or date; None for anything else."""
    try:
        return None if header is None else float(Retry().parse_retry_after(header))
    except InvalidHeader:
        return None


def may_come_back(error: UnreachableError | ProblemError) -> bool:
    """Say whether the server may answer another time: what went wrong in it or before it may pass.

    A refusal stays one.
    """
    return isinstance(error, UnreachableError) or (
        error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        or error.status == HTTPStatus.TOO_MANY_REQUESTS
    )


def ask_again(ask: Callable[[], T], clock: Clock, *, poll_s: float) -> Iterator[tuple[T, str]]:
    """Yield what is answered now, and again and again, with why there was no answer, else "".

    While the server is away, two minutes at most, the answer from before is yielded again. Raises
    ProblemError of a refusal, and what the first call raises.
    """
    answer, away_since_s = ask(), None
    yield answer, ""
    while True:
        clock.sleep(poll_s)
        called_at_s = clock.monotonic()
        try:
            answer, trouble, away_since_s = ask(), "", None
        except (UnreachableError, ProblemError) as error:
            # Since the first call that failed began: between two calls may lie an hour, and a call
            # that is tried again and again lasts a minute itself.
            away_since_s = called_at_s if away_since_s is None else away_since_s
            if not may_come_back(error) or clock.monotonic() - away_since_s > AWAY_S:
                raise
            trouble = str(error)
        yield answer, trouble
