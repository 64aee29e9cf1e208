"""A consumer of the group `sink`: what it reads is its own until it is acknowledged."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

from redis import Redis
from redis.exceptions import ResponseError

from experience.sink.gathering import Entry, order_of
from experience.stream import SINK, stream_key

COUNT: Final = 64
BLOCK_MS: Final = 500
DEAD_AFTER_S: Final = 60
"""Entries that a consumer holds for longer are another's to take."""


class Consumer:
    """Reads the streams of some games under a name; a sink of the same name goes on from it."""

    def __init__(self, client: "Redis", name: str, games: Sequence[str]) -> None:
        self._client: Any = client  # its types know of clients of other kinds, too
        self._name = name
        self._games = {stream_key(game).encode(): game for game in games}

    def make_groups(self) -> None:
        """Let the group begin with the first entry of each stream."""
        for key in self._games:
            # A server that is full makes none, and refuses to even where there is one already.
            if not self._has_group(key):
                self._client.xgroup_create(key, SINK, id="0", mkstream=True)

    def read_own(self) -> Iterator[list[tuple[str, Entry]]]:
        """Yield by game, a page at a time, what was read under this name and not acknowledged."""
        for key in self._games:
            after = "0"
            while page := self._read_entries({key: after}, block_ms=None):
                after = page[-1][1].entry_id
                yield page

    def read_new(self) -> list[tuple[str, Entry]]:
        """Return entries, each with its game, that no sink has read; wait for them a little."""
        return self._read_entries(dict.fromkeys(self._games, ">"), block_ms=BLOCK_MS)

    def claim_dead(self, *, idle_s: float) -> list[tuple[str, Entry]]:
        """Take over what any consumer has held for so long; return it, each with its game."""
        claimed: list[tuple[str, Entry]] = []
        for key, game in self._games.items():
            after = "0-0"
            while True:
                after, page, *_ = self._client.xautoclaim(
                    key, SINK, self._name, int(idle_s * 1_000), start_id=after, count=COUNT
                )
                claimed += [(game, _read_entry(entry)) for entry in page]
                if after == b"0-0":
                    break
        return claimed

    def acknowledge(self, game: str, entry_ids: Sequence[str]) -> None:
        """Say that entries are in an indexed file."""
        self._client.xack(stream_key(game), SINK, *entry_ids)

    def trim(self, game: str, learners: Collection[str]) -> None:
        """Delete what the sink and these groups are through with.

        Not the acknowledged entries by their ids: a learner may not have read them yet.
        """
        key = stream_key(game)
        groups = self._client.xinfo_groups(key)
        floors = [
            self._find_floor(key, group)
            for group in groups
            if group["name"].decode() in (SINK, *learners)
        ]
        self._client.xtrim(key, minid=min(floors, key=order_of), approximate=False)

    def _has_group(self, key: bytes) -> bool:
        try:
            return any(group["name"] == SINK.encode() for group in self._client.xinfo_groups(key))
        except ResponseError:  # there is no such stream yet
            return False

    def _find_floor(self, key: str, group: Any) -> str:
        """Return the first id that a group still needs."""
        # None where all was acknowledged meanwhile.
        if group["pending"] and (least := self._client.xpending(key, group["name"])["min"]):
            return str(least.decode())
        milliseconds, number = order_of(group["last-delivered-id"].decode())
        return f"{milliseconds}-{number + 1}"

    def _read_entries(
        self, after: dict[bytes, str], *, block_ms: int | None
    ) -> list[tuple[str, Entry]]:
        reply = self._client.xreadgroup(SINK, self._name, after, count=COUNT, block=block_ms)
        pages = reply.items() if isinstance(reply, dict) else reply or ()
        return [
            (self._games[key], _read_entry(entry))
            for key, entries in pages
            for entry in entries
            # What was trimmed while it was pending has no fields any more.
            if entry[1]
        ]


def _read_entry(entry: tuple[bytes, dict[bytes, bytes]]) -> Entry:
    entry_id, fields = entry
    return Entry(entry_id.decode(), int(fields[b"user"]), fields[b"chunk"], int(fields[b"n"]))
