"""Controls that kill themselves while they join segments, one at every step.

`python -m experience.tests.killed_compaction`: a program of its own, since SIGKILL leaves no time
to tidy up. Before each it writes three small segments of a day of their own; after all of them
one control joins what is left. It prints how many chunks it has written.
"""

import os
import signal
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import django

django.setup()

from django.core.files.base import ContentFile  # noqa: E402  # after Django is set up
from django.core.files.storage import storages  # noqa: E402
from django.db import connection  # noqa: E402

from arena.experience.tests.made import chunk_of  # noqa: E402
from arena.experience.wire import write_chunk  # noqa: E402
from experience import segment_files  # noqa: E402
from experience.models import ChunkIndex  # noqa: E402
from experience.sink import writing  # noqa: E402
from experience.sink.gathering import Entry  # noqa: E402
from experience.upkeep import compaction  # noqa: E402

Step = tuple[Any, str, bool]
STEPS: Final[dict[str, Step]] = {
    "before it is read": (compaction, "join_files", False),
    "before the file": (segment_files, "store_file", False),
    "amid the file": (segment_files, "store_file", True),
    "before the rows": (compaction, "replace_rows", False),
    "amid the rows": (ChunkIndex.objects, "filter", True),
    "before the old files": (compaction, "delete_file", False),
    "amid the old files": (compaction, "delete_file", True),
    "after the rows": (compaction, "replace_rows", True),
}
"""What is called there, and whether it is killed behind or before the call."""
NEW: Final = 3
BEGIN: Final = datetime(2026, 5, 4, 12, tzinfo=UTC)
LATER: Final = BEGIN + timedelta(days=30)


def put_segments(first: int, at: datetime) -> None:
    """Write segments of one chunk each, numbered from the first."""
    for number in range(first, first + NEW):
        content = write_chunk(chunk_of(seed=number))
        entry = Entry(f"{number}-0", 1, content, 25)
        writing.write_entries("cart_pole", [entry], now=at)


def store_half(name: str, content: bytes) -> str:
    """Leave a file that was cut off while it was written."""
    storages[segment_files.STORAGE].save(name, ContentFile(content[: len(content) // 2]))
    return name


def kill_at(step: str) -> None:
    """Let the call of a step end this process."""
    owner, name, is_behind = STEPS[step]
    call = store_half if step == "amid the file" else getattr(owner, name)

    def call_and_die(*args: Any, **options: Any) -> None:
        if is_behind:
            call(*args, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, call_and_die)


def compact_all() -> None:
    """Join everything that is to be joined."""
    while compaction.compact_next(most_rows=1_000, now=LATER):
        pass


def compact_and_die(step: str) -> None:
    """Compact in a process of its own until the step. Raises ChildProcessError else."""
    connection.close()
    child = os.fork()
    if not child:
        kill_at(step)
        compact_all()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        raise ChildProcessError(f"control was not killed {step}: {status}")


if __name__ == "__main__":
    sent = 0
    for day, its_step in enumerate(STEPS):
        put_segments(sent + 1, BEGIN + timedelta(days=day))
        sent += NEW
        compact_and_die(its_step)
    compact_all()
    sys.stdout.write(str(sent))
