"""What the head does again and again beside answering."""

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

log = logging.getLogger(__name__)

Duty = tuple[Callable[[], Awaitable[object]], float]


async def repeat(act: Callable[[], Awaitable[object]], every_s: float) -> None:
    """Act every so many seconds until it is cancelled."""
    while True:
        await act()
        await asyncio.sleep(every_s)


@asynccontextmanager
async def run_duties(duties: Sequence[Duty]) -> AsyncIterator[None]:
    """Repeat every duty until the block is left. One that raises ends the process, as by SIGTERM.

    A head that does half of its work would be taken for a healthy one; its supervisor starts
    another, and no match is lost by that.
    """
    tasks = [asyncio.create_task(repeat(act, every_s)) for act, every_s in duties]
    for task in tasks:
        task.add_done_callback(_end_process)
    try:
        yield
    finally:
        for task in tasks:
            task.remove_done_callback(_end_process)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _end_process(task: "asyncio.Task[None]") -> None:
    if not task.cancelled():
        log.critical("the head ends, as a duty failed", exc_info=task.exception())
        signal.raise_signal(signal.SIGTERM)
