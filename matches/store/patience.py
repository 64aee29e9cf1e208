"""Wait for a database that is away: a report keeps its place in the queue."""

import logging
from collections.abc import Callable
from time import sleep as real_sleep
from typing import TypeVar

from django.db import OperationalError, connection

log = logging.getLogger(__name__)
Result = TypeVar("Result")

WAITS_S = (0.1, 0.3, 1.0, 3.0, 5.0, 10.0, 10.0)


def patiently(work: Callable[[], Result], *, sleep: Callable[[float], None] = real_sleep) -> Result:
    """Return what work returns, trying again while the database does not answer.

    Not Celery's retry: that puts a report behind the marks sent after it. Raises OperationalError
    after the last wait; the deadline of the order then brings its matches back.
    """
    for wait_s in WAITS_S:
        try:
            return work()
        except OperationalError as error:
            log.warning("the database does not answer, again in %g s: %s", wait_s, error)
            connection.close()
            sleep(wait_s)
    return work()
