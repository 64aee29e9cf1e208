"""Records of one step each become chunks, the same ones however the stream was cut into batches.

A client numbers its records from 0. Kinesis may keep one twice, and a later one first, where a
client sent again what was refused: the numbers give the order back.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID, uuid5

FEWEST, MOST = 128, 256
LEAST_AT_END: Final = 16
"""The server takes fewer steps only where the last one ends an episode."""
_IDS: Final = UUID("6f0f6f0e-3a63-4b0b-9d0a-6d1f8d7f2f55")
_COLUMNS: Final = {
    "episodes": "episode",
    "steps": "step",
    "observations": "observation",
    "next_observations": "next_observation",
    "actions": "action",
    "rewards": "reward",
    "terminated": "terminated",
    "truncated": "truncated",
    "log_probs": "log_prob",
}

Record = dict[str, Any]
"""A step as the client has written it, with its `sequence` number in the shard."""


@dataclass
class Client:
    """What of a client was not sent yet."""

    next: int = 0
    """The number of the first record that is in no chunk."""
    waiting: dict[int, Record] = field(default_factory=dict)

    def add(self, record: Record) -> None:
        """Take a record; one that was taken before is passed over."""
        if record["number"] >= self.next:
            self.waiting.setdefault(record["number"], record)

    def cut(self, *, is_last: bool = False) -> Iterator[list[Record]]:
        """Yield chunks and drop their records. is_last: nothing follows, so short ones, too."""
        run = [*self._list_following()]
        begin = 0
        for end in range(1, len(run) + 1):
            if is_full(run[begin:end], run[end] if end < len(run) else None):
                yield self._take(run[begin:end])
                begin = end
        rest = run[begin:]
        if is_last and (n_sent := count_sendable(rest)):
            yield self._take(rest[:n_sent])

    def _list_following(self) -> Iterator[Record]:
        number = self.next
        while number in self.waiting:
            yield self.waiting[number]
            number += 1

    def _take(self, records: list[Record]) -> list[Record]:
        for record in records:
            del self.waiting[record["number"]]
        self.next = records[-1]["number"] + 1
        return records


def is_full(chunk: Sequence[Record], following: Record | None) -> bool:
    """Say whether a chunk ends here: at an episode's end where it can, of one version in any case.

    It does not matter whether the following record is known: else batches would decide.
    """
    if len(chunk) == MOST or (len(chunk) >= FEWEST and ends_episode(chunk[-1])):
        return True
    return following is not None and any(
        following[name] != chunk[-1][name] for name in ("game", "policy_version")
    )


def ends_episode(record: Record) -> bool:
    """Say whether nothing follows in its episode."""
    return bool(record["terminated"] or record["truncated"])


def count_sendable(rest: Sequence[Record]) -> int:
    """Return how many steps the server would take: all, or those up to the last episode's end."""
    after = max((place for place, one in enumerate(rest, 1) if ends_episode(one)), default=0)
    return len(rest) if len(rest) - after >= LEAST_AT_END else after


def name_chunk(stream: str, shard: str, records: Sequence[Record]) -> str:
    """Return the chunk's id: it follows from the place of its records in the stream alone."""
    first, last = records[0]["sequence"], records[-1]["sequence"]
    return uuid5(_IDS, f"{stream} {shard} {first} {last}").hex


def build_chunk(chunk_id: str, records: Sequence[Record]) -> dict[str, Any]:
    """Return the body of an upload: docs/experience.md says what each field holds."""
    return {
        "v": 1,
        "game": records[0]["game"],
        "chunk_id": chunk_id,
        "policy_version": records[0]["policy_version"],
        **{name: [record[one] for record in records] for name, one in _COLUMNS.items()},
    }


def add_records(clients: dict[str, Client], records: Iterable[Record]) -> None:
    """Give each record to its client."""
    for record in records:
        clients.setdefault(record["client"], Client()).add(record)
