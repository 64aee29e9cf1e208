"""Becomes the broker or the stream: `python -m launcher.salvage FOLDER LOG SERVER OPTIONS`.

A server whose append-only file was damaged, as by a power cut, refuses to start, and would do so
for ever. So the file is set aside and the server begins with an empty one. What waits in the
broker's queues is only a hint: it is given up after its deadline and sent again. Of the stream
somebody must look at the file, as chunks that the sink had not written are nowhere else.

That the file is damaged is told by the server's own last words in its log. `valkey-check-aof` would
not do: it calls the binary base file of every healthy server damaged, and a cut-off end, too, which
the server mends by itself.
"""

import os
import re
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

# Printed at each start: only what the server said after it is about its last start.
BEGINS = "evalsite: the server begins"
READ_BYTES = 16_384
FILES = "appendonlydir"
SET_ASIDE = "set-aside-"
# By server: what became of what was in its file.
LOST = {
    "broker": "what waited in it is sent again",
    "stream": "what the sink had not written is in it alone (valkey-check-aof --fix mends a copy)",
}
_DAMAGED = re.compile(
    "reading the append only file|AOF MANIFEST FILE ERROR|error in RDB|Unable to obtain the AOF"
)


def is_damaged(log: Path) -> bool:
    """Say whether the last start of the server ended because it could not read its files."""
    if not log.is_file():
        return False
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - READ_BYTES))
        last_start = file.read().decode(errors="replace").rpartition(BEGINS)[2]
    return bool(_DAMAGED.search(last_start)) and "Ready to accept connections" not in last_start


def set_aside(folder: Path, *, now: datetime) -> Path:
    """Move the files of a server to a dated name beside them; return it."""
    target = folder / f"{SET_ASIDE}{now:%Y%m%d-%H%M%S}"
    (folder / FILES).rename(target)
    return target


def describe_set_aside(var: Path) -> list[str]:
    """Return a sentence for each damaged file that was set aside and is still there."""
    return [
        f"the {name}'s file was damaged and is kept as {path}: {lost}; delete the folder when "
        "nobody wants to look into it"
        for name, lost in LOST.items()
        for path in sorted((var / name).glob(f"{SET_ASIDE}*"))
    ]


def main(arguments: Sequence[str]) -> None:
    """Set aside what the last start could not read, then become the server under the same pid."""
    folder, log, *command = arguments
    if is_damaged(Path(log)) and (Path(folder) / FILES).is_dir():
        target = set_aside(Path(folder), now=datetime.now(UTC))
        print(f"the damaged append-only file is kept as {target}", file=sys.stderr)
    print(BEGINS, file=sys.stderr, flush=True)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
