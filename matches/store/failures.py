"""What to do when something fails: do the other duties first, or wait for the database."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from time import sleep as real_sleep
from typing import TypeVar

from django.db import OperationalError, connection

from matches.store import away

log = logging.getLogger(__name__)
Result = TypeVar("Result")

WAITS_S = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 10.0)


class Failures:
    """The errors of duties, kept until all of them have been tried."""

    def __init__(self) -> None:
        self._errors: list[Exception] = []

    @contextmanager
    def collect(self, duty: str) -> Iterator[None]:
        """Keep what a duty raises, with its name, so that the next one is done."""
        try:
            yield
        except Exception as error:  # raised again by `raise_all`
            error.add_note(f"while {duty}")
            self._errors.append(error)

    def raise_all(self) -> None:
        """Raise what was kept, all together; nothing when nothing was."""
        if len(self._errors) == 1:
            raise self._errors[0]
        if self._errors:
            raise ExceptionGroup("several duties failed", self._errors)


def do_each(duties: Iterable[Callable[..., object]], *, now: datetime) -> None:
    """Do every duty once; one that fails keeps none of the others from being done."""
    failures = Failures()
    for duty in duties:
        with failures.collect(duty.__name__):
            duty(now=now)
    failures.raise_all()


def is_of_database(error: Exception) -> bool:
    """Say whether it is the database that failed, and not what it was asked to do."""
    return isinstance(error, OperationalError) or away.is_away(error)


def retry_while_database_is_away(
    work: Callable[[], Result], *, sleep: Callable[[float], None] = real_sleep
) -> Result:
    """Return what work returns, trying again while the database does not answer or take it.

    Raises what it met after the last wait; the deadline of the order then brings its matches back.
    """
    # Not Celery's retry: that puts a report behind the marks sent after it.
    for wait_s in WAITS_S:
        try:
            return work()
        except away.ERRORS as error:
            if not is_of_database(error):
                raise
            log.warning("the database does not answer, again in %g s: %s", wait_s, error)
            connection.close()
            sleep(wait_s)
    return work()
