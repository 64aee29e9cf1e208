"""What a gpu worker does besides its tasks, once a second in a thread of its own.

The fast store gets its functions again after a restart, a doorbell that was lost is rung again, and
control is told that this worker lives.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import redis

from inference import functions
from inference.errors import InferenceError
from inference.link import Link

log = logging.getLogger(__name__)

TICK_S = 1.0
PATIENCE_MS = 1_000
"""A worker with nothing to do answers a doorbell at once: one that is older than this is lost."""


class Calls(NamedTuple):
    """What a keeper calls; ring and say_alive raise InferenceError when the broker is away."""

    ring: Callable[[int, str], None]
    is_idle: Callable[[], bool]
    say_alive: Callable[[], None]
    show: Callable[[Link, float], None]
    """Puts what is done into the fast store, at that moment of the clock."""


class Keeper:
    """Keeps the shards of one worker reachable."""

    def __init__(
        self,
        link: Link,
        shards: Sequence[int],
        calls: Calls,
        *,
        alive_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """alive_s: how often control is told that the worker lives."""
        self._link, self._shards, self._calls, self._alive_s = link, shards, calls, alive_s
        self._clock, self._alive_at = clock, float("-inf")
        self._trouble: dict[str, str] = {}
        self._is_closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)

    def open(self) -> None:
        """Load the functions, say that the worker lives, and begin to tick."""
        # No doorbell is looked for yet: those that waited for this worker are not lost.
        self._try("the fast store", self._load)
        self._keep_alive(self._clock())
        self._thread.start()

    def close(self) -> None:
        """Stop ticking."""
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join(2 * TICK_S)
        self._link.close()

    def tick(self, now: float) -> None:
        """Do what is due; trouble is logged once and tried again at the next tick."""
        self._try("the fast store", lambda: self._keep_queue(now))
        self._keep_alive(now)

    def _run(self) -> None:
        while not self._is_closing.wait(TICK_S):
            self.tick(self._clock())

    def _keep_alive(self, now: float) -> None:
        if now - self._alive_at >= self._alive_s:
            self._alive_at = now
            self._try("the broker", self._calls.say_alive)

    def _load(self) -> None:
        if functions.load(self._link):
            log.info("the functions of the queue were loaded into the fast store")

    def _keep_queue(self, now: float) -> None:
        self._load()
        self._calls.show(self._link, now)
        for shard in self._shards:
            if self._calls.is_idle():
                self._wake(shard)

    def _wake(self, shard: int) -> None:
        lease = functions.run(self._link, "inf_wake", shard, PATIENCE_MS)
        if isinstance(lease, bytes):
            log.warning("shard %d: a doorbell was lost and is rung again", shard)
            self._calls.ring(shard, lease.decode())

    def _try(self, what: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (InferenceError, redis.RedisError) as error:
            if self._trouble.get(what) != str(error):
                log.warning("%s cannot be used now: %s", what, error)
            self._trouble[what] = str(error)
        else:
            if self._trouble.pop(what, None):
                log.warning("%s can be used again", what)
