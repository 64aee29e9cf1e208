"""A run's view of the stream of its game: each chunk once, from where its state has come to."""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from redis import Redis
from redis.exceptions import RedisError, ResponseError

from arena.errors import ChunkError
from arena.experience.chunks import Chunk
from arena.experience.wire import read_chunk
from arena.games.base import GameSpec
from training.base import Learner, Metrics
from training.errors import UnavailableError
from training.policies import START

log = logging.getLogger(__name__)

COUNT: Final = 64
"""Chunks that a learner holds at most before it has learned from them."""
CHUNKS_AT_ONCE = 8
"""What a policy learns from at once: of fewer, its gradient is noise."""
BLOCK_MS: Final = 200
_CONSUMER: Final = "slice-"
"""A slice reads under its number, so that one whose trainer was thought dead is told apart."""


class Entry(NamedTuple):
    """A chunk, and its place in the stream."""

    place: str
    chunk: Chunk


class ChunkReader:
    """Reads a run's consumer group, which control makes; nothing of the stream is deleted here."""

    at_once, most, publish_s = CHUNKS_AT_ONCE, COUNT, 0.0

    def __init__(self, client: "Redis", run: str, spec: GameSpec, *, slice_number: int) -> None:
        """Read nothing yet. slice_number: of a later slice of the run it is higher."""
        self.n_unreadable = 0
        self._slice, self._consumer = slice_number, f"{_CONSUMER}{slice_number}"
        self._client: Any = client  # its types know of clients of other kinds, too
        self._spec, self._key, self._group = spec, f"xp:{{{spec.id}}}", f"learn:{run}"
        self._done = self._resumed = START
        self._is_resuming = True
        self._unacknowledged: deque[str] = deque()

    def resume(self, place: str) -> None:
        """Begin with what was read but is not in the state that ends at this place."""
        self._done, self._resumed, self._is_resuming = place, START, True

    def read(self, most: int) -> list[Entry]:
        """Return the next chunks, at most so many; wait a little where there are none.

        Raises UnavailableError, also where a later slice reads: what came is its to learn from.
        """
        if self._is_replaced():
            raise UnavailableError("the slice was given up by control, and a later one reads")
        while self._is_resuming:
            if page := self._claim_page(most):
                return self._open_page(page)
        return self._open_page(self._read_page(most))

    def teach(self, learner: Learner, entries: Sequence[Entry]) -> Metrics:
        """Let a learner learn from the chunks of entries."""
        return learner.learn([entry.chunk for entry in entries])

    def acknowledge(self, place: str) -> None:
        """Acknowledge what was read up to a place: control must have the state that ends there.

        Of a later slice control has not: it acknowledges what its own state holds.
        """
        if self._is_replaced():
            return
        places: list[str] = []
        while self._unacknowledged and _order_of(self._unacknowledged[0]) <= _order_of(place):
            places.append(self._unacknowledged.popleft())
        self._acknowledge_entries(places)

    def _is_replaced(self) -> bool:
        consumers = self._call("xinfo_consumers", self._key, self._group)
        return any(_read_slice(consumer["name"].decode()) > self._slice for consumer in consumers)

    def _claim_page(self, most: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
        """Take over a page of what slices before have read and not acknowledged."""
        place = (self._key, self._group, self._consumer)
        after, page, *trimmed = self._call(
            "xautoclaim", *place, min_idle_time=0, start_id=self._resumed, count=most
        )
        self._resumed = after.decode()
        self._is_resuming = self._resumed != START
        # What was trimmed while it was pending is no longer pending either.
        self.n_unreadable += sum(map(len, trimmed))
        return list(page)

    def _read_page(self, most: int) -> list[tuple[bytes, dict[bytes, bytes]]]:
        arguments = {self._key: ">"}
        reply = self._call(
            "xreadgroup", self._group, self._consumer, arguments, count=most, block=BLOCK_MS
        )
        pages = reply.values() if isinstance(reply, dict) else (page for _, page in reply or ())
        return [entry for page in pages for entry in _flatten(page)]

    def _call(self, name: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self._client, name)(*arguments, **options)
        except ResponseError as error:
            raise UnavailableError(f"the stream refuses: {error}") from error
        except RedisError as error:
            raise UnavailableError(f"the stream does not answer: {error}") from error

    def _open_page(self, page: list[tuple[bytes, dict[bytes, bytes]]]) -> list[Entry]:
        """Return the chunks of a page; what is in the state or unreadable is acknowledged."""
        entries: list[Entry] = []
        passed_over: list[str] = []
        for entry_id, fields in page:
            place = entry_id.decode()
            if _order_of(place) <= _order_of(self._done):
                passed_over.append(place)
                continue
            try:
                # Of an entry that is pending but no longer in the stream there are no fields.
                content = (fields or {}).get(b"chunk", b"")
                entries.append(Entry(place, read_chunk(content, spec=self._spec)))
            except ChunkError as error:
                log.warning("entry %s of %s is unreadable: %s", place, self._key, error)
                self.n_unreadable += 1
                passed_over.append(place)
        self._unacknowledged += [entry.place for entry in entries]
        self._acknowledge_entries(passed_over)
        return entries

    def _acknowledge_entries(self, places: list[str]) -> None:
        if places:
            self._call("xack", self._key, self._group, *places)


def _flatten(page: Any) -> Iterator[tuple[bytes, dict[bytes, bytes]]]:
    """Yield the entries of a page; with protocol 3 it is a list of lists."""
    for entry in page:
        if entry and isinstance(entry[0], bytes):
            yield entry
        else:
            yield from _flatten(entry)


def _read_slice(consumer: str) -> int:
    """Return the number in the name of a consumer; -1 where it is another program's."""
    number = consumer.removeprefix(_CONSUMER)
    return int(number) if number != consumer and number.isdecimal() else -1


def _order_of(place: str) -> tuple[int, int]:
    milliseconds, _, number = place.partition("-")
    return int(milliseconds), int(number)
