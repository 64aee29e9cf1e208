"""Signs of life of a trainer while it is at work, by a thread beside it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final

from training.errors import UnavailableError

log = logging.getLogger(__name__)

SIGN_S: Final = 2.0
"""Between two signs; control orders a slice anew after ten seconds without one."""


@contextmanager
def giving_signs(give: Callable[[], None], *, every_s: float, most: int) -> Iterator[None]:
    """Call `give` now and then until the block ends, at most so often.

    most: whoever hangs in the block would else keep the slice for ever.
    """
    is_over = Event()

    def give_all() -> None:
        for _ in range(most):
            try:
                give()
            except UnavailableError as error:
                log.warning("no sign of life: %s", error)
            if is_over.wait(every_s):
                return

    thread = Thread(target=give_all, name="signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
