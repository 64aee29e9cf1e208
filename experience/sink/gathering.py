"""Entries of the stream that are gathered until they are worth a file."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

MOST_BYTES: Final = 2**26
MOST_CHUNKS: Final = 4_096
"""More ids in one statement than this a database refuses."""


class Entry(NamedTuple):
    """A chunk on the stream: its id there, the key of its user, its bytes and its steps."""

    entry_id: str
    user: int
    content: bytes
    n: int


@dataclass(frozen=True)
class Limits:
    """When a file is written: at so many steps, or so long after its first entry was read."""

    rows: int
    seconds: float


@dataclass
class Batch:
    """Entries of one game, each once, and when the first was read (by a steady clock)."""

    began_s: float
    entries: dict[str, Entry] = field(default_factory=dict)
    n_rows: int = 0
    n_bytes: int = 0

    def add(self, entry: Entry) -> None:
        """Keep an entry; one that is there already, as when it is claimed again, is not doubled."""
        if entry.entry_id not in self.entries:
            self.entries[entry.entry_id] = entry
            self.n_rows += entry.n
            self.n_bytes += len(entry.content)

    def is_due(self, limits: Limits, *, now_s: float) -> bool:
        """Say whether it is to be written now."""
        return (
            self.n_rows >= limits.rows
            or self.n_bytes >= MOST_BYTES
            or len(self.entries) >= MOST_CHUNKS
            or now_s - self.began_s >= limits.seconds
        )


def sort_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries in the order of the stream."""
    return sorted(entries, key=lambda entry: order_of(entry.entry_id))


def order_of(entry_id: str) -> tuple[int, int]:
    """Return the two numbers of an id, by which a stream is ordered."""
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number)
