"""How much SQLite works for something, whatever else the machine does meanwhile."""

from collections.abc import Callable

from django.db import connection

STEPS_A_COUNT = 10


def count_steps(work: Callable[[], object]) -> int:
    """Return how many times SQLite came through STEPS_A_COUNT instructions during some work."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    connection.connection.set_progress_handler(count, STEPS_A_COUNT)
    try:
        work()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return counted
