"""Sinks that kill themselves, one at every step, with new chunks on the stream before each.

`python -m experience.tests.killed_sink`: a program of its own, since SIGKILL leaves no time to
tidy up. It prints how many chunks it has put there.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

import django

django.setup()

from django.conf import settings  # noqa: E402  # after Django is set up
from django.core.files.base import ContentFile  # noqa: E402
from django.core.files.storage import storages  # noqa: E402
from django.core.management import call_command  # noqa: E402
from redis import Redis  # noqa: E402

from arena.experience.tests.made import chunk_of  # noqa: E402
from arena.experience.wire import write_chunk  # noqa: E402
from experience import segment_files  # noqa: E402
from experience.models import ChunkIndex  # noqa: E402
from experience.sink import writing  # noqa: E402
from experience.sink.consumer import Consumer  # noqa: E402

Step = tuple[Any, str, bool]
STEPS: Final[dict[str, Step]] = {
    "after reading": (writing, "write_entries", False),
    "before the file": (segment_files, "store_file", False),
    "amid the file": (segment_files, "store_file", True),
    "before the row": (writing, "index_segment", False),
    "amid the row": (ChunkIndex.objects, "bulk_create", True),
    "after the row": (writing, "index_segment", True),
    "before it is acknowledged": (Consumer, "acknowledge", False),
    "after it is acknowledged": (Consumer, "acknowledge", True),
    "after it is trimmed": (Consumer, "trim", True),
}
"""What is called there, and whether it is killed behind or before the call."""
NEW: Final = 3
"""Chunks before each step."""


def put_chunks(server: Any, first: int) -> None:
    """Put chunks on the stream, numbered from the first."""
    for number in range(first, first + NEW):
        content = write_chunk(chunk_of(seed=number))
        server.xadd("xp:{cart_pole}", {"chunk": content, "user": 1, "n": 25})


def kill_at(step: str) -> None:
    """Let the call of a step end this process."""
    owner, name, is_behind = STEPS[step]
    call: Callable[..., Any] = getattr(owner, name)
    if step == "amid the file":
        call = store_half

    def call_and_die(*args: Any, **options: Any) -> None:
        if is_behind:
            call(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, call_and_die)


def store_half(name: str, content: bytes) -> None:
    """Leave a file that was cut off while it was written."""
    storages[segment_files.STORAGE].save(name, ContentFile(content[: len(content) // 2]))


def run_and_die(step: str) -> None:
    """Run a sink in a process of its own until the step. Raises ChildProcessError else."""
    child = os.fork()
    if not child:
        kill_at(step)
        call_command("sink", rows=25 * NEW, seconds=3_600)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        raise ChildProcessError(f"the sink was not killed {step}: {status}")


if __name__ == "__main__":
    sent = 0
    with Redis.from_url(settings.STREAM_REDIS_URL) as its_server:
        for its_step in STEPS:
            put_chunks(its_server, sent + 1)
            sent += NEW
            run_and_die(its_step)
        put_chunks(its_server, sent + 1)
    sys.stdout.write(str(sent + NEW))
