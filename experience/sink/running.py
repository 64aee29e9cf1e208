"""The loop of a sink: stream -> file -> row -> acknowledged -> deleted from the stream."""

import logging
from collections.abc import Callable, Iterable
from threading import Event
from typing import Final

from django.db import connection
from redis.exceptions import RedisError

from experience.learning import read_learning
from experience.sink import writing
from experience.sink.consumer import DEAD_AFTER_S, Consumer
from experience.sink.gathering import Batch, Entry, Limits
from matches.store import away
from matches.store.clock import db_now
from matches.store.failures import is_of_database

CLAIM_EVERY_S: Final = 30.0
WAIT_S: Final = 2.0
log = logging.getLogger(__name__)


class Sink:
    """Gathers what a consumer reads and writes it."""

    def __init__(
        self, consumer: Consumer, limits: Limits, stop: Event, clock: Callable[[], float]
    ) -> None:
        """stop: set to end; what is gathered then is read again by the next one."""
        self._consumer, self._limits, self._stop, self._clock = consumer, limits, stop, clock
        self._batches: dict[str, Batch] = {}

    def run(self) -> None:
        """Work until it is stopped, through outages of the stream."""
        while not self._stop.is_set():
            try:
                self._take_turn()
            except RedisError as error:
                log.error("the stream does not answer, again in %g s: %s", WAIT_S, error)
                self._stop.wait(WAIT_S)

    def _take_turn(self) -> None:
        """Read what is pending under its name, then what is new or left by the dead."""
        # What was gathered before an outage is still pending.
        self._batches.clear()
        self._consumer.make_groups()
        for page in self._consumer.read_own():
            self._gather_page(page)
            if self._stop.is_set():
                return
        claim_at_s = self._clock()
        while not self._stop.is_set():
            if self._clock() >= claim_at_s:
                # Longer than a batch may wait: else it would claim from those that live.
                idle_s = max(DEAD_AFTER_S, 2 * self._limits.seconds)
                self._gather_page(self._consumer.claim_dead(idle_s=idle_s))
                claim_at_s = self._clock() + CLAIM_EVERY_S
            self._gather_page(self._consumer.read_new())

    def _gather_page(self, page: Iterable[tuple[str, Entry]]) -> None:
        for game, entry in page:
            self._batches.setdefault(game, Batch(self._clock())).add(entry)
        for game, batch in list(self._batches.items()):
            if batch.is_due(self._limits, now_s=self._clock()):
                self._write_batch(game, batch)

    def _write_batch(self, game: str, batch: Batch) -> None:
        """Write a batch, again and again while disk or database do not take it."""
        while not self._stop.is_set():
            try:
                segment = writing.write_entries(game, [*batch.entries.values()], now=db_now())
                break
            except (OSError, *away.ERRORS) as error:
                if not (isinstance(error, OSError) or is_of_database(error)):
                    raise
                log.error("%d steps of %s are not written yet: %s", batch.n_rows, game, error)
                connection.close()
                self._stop.wait(WAIT_S)
        else:
            return
        self._consumer.acknowledge(game, [*batch.entries])
        learning = read_learning(game, now=db_now())
        self._consumer.trim(game, learning.groups + learning.waiting)
        del self._batches[game]
        log.info("%s", segment or f"{len(batch.entries)} entries of {game} were there before")
