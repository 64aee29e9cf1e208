"""What a gpu worker does besides its tasks, once a second in a thread of its own.

The fast store gets its functions again after a restart, clients are shown that somebody serves
their shard, a doorbell that was lost is rung again, and control is told that this worker lives.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import redis

from arena.faststore import queue_key, served_key
from inference import redis_functions
from inference.connection import FastConnection
from inference.errors import InferenceError
from inference.settings import Settings

log = logging.getLogger(__name__)

TICK_S = 1.0
# A worker with nothing to do answers a doorbell at once: one that is older than this is lost.
PATIENCE_MS = 1_000
# Clients ring for a shard for so long after a worker of it was last there.
SERVED_MS = 10_000


class Calls(NamedTuple):
    """What the thread calls; ring and say_alive raise InferenceError when the broker is away."""

    ring: Callable[[int, str], None]
    is_idle: Callable[[], bool]
    say_alive: Callable[[], None]
    # Puts what is done into the fast store, at that moment of the clock.
    show: Callable[[FastConnection, float], None]


class MaintenanceThread:
    """Keeps the shards of one worker reachable."""

    def __init__(
        self,
        connection: FastConnection,
        own: Settings,
        calls: Calls,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """own: which shards are served, and how often control is told that the worker lives."""
        self._connection, self._own, self._calls = connection, own, calls
        self._clock, self._alive_at = clock, float("-inf")
        self._trouble: dict[str, str] = {}
        self._is_closing = threading.Event()
        self._thread = threading.Thread(
            target=self._tick_until_closed, name="maintenance", daemon=True
        )

    def open(self) -> None:
        """Load the functions, say that the worker lives, and begin to tick."""
        # Trouble is no reason not to start: a store that is down now may be up at the next tick.
        self._try_and_log("the fast store", self._show_served)
        self._keep_alive(self._clock())
        self._thread.start()

    def close(self) -> None:
        """Stop ticking."""
        self._is_closing.set()
        if self._thread.is_alive():
            self._thread.join(2 * TICK_S)
        self._connection.close()

    def tick(self, now: float) -> None:
        """Do what is due; trouble is logged once and tried again at the next tick."""
        self._try_and_log("the fast store", lambda: self._keep_queue(now))
        self._keep_alive(now)

    def _tick_until_closed(self) -> None:
        while not self._is_closing.wait(TICK_S):
            self.tick(self._clock())

    def _keep_alive(self, now: float) -> None:
        if now - self._alive_at >= self._own.alive_s:
            self._alive_at = now
            self._try_and_log("the broker", self._calls.say_alive)

    def _show_served(self) -> None:
        if redis_functions.load_functions(self._connection):
            log.info("the functions of the queue were loaded into the fast store")
        for shard in self._own.serves:
            self._connection.call("SET", served_key(shard), self._own.gpu, "PX", SERVED_MS)

    def _keep_queue(self, now: float) -> None:
        self._show_served()
        self._calls.show(self._connection, now)
        limit = 2 * self._own.queue_limit
        for shard in self._own.serves:
            n_waiting = self._connection.call("LLEN", queue_key(shard))
            # Our clients keep the limit: what is far beyond it is a flood.
            if n_waiting > limit:
                # The oldest stay: they are the next to be answered.
                self._connection.call("LTRIM", queue_key(shard), 0, limit - 1)
                log.warning(
                    "shard %d: %d requests over the limit dropped", shard, n_waiting - limit
                )
            if not self._calls.is_idle():
                continue
            # Something may wait where nobody comes: all are idle, so somebody is called.
            wake = ("inf_wake", shard, PATIENCE_MS, self._own.max_drainers)
            lease = redis_functions.run_function(self._connection, *wake)
            if isinstance(lease, bytes):
                log.info("shard %d: something waits, and nobody else comes", shard)
                self._calls.ring(shard, lease.decode())

    def _try_and_log(self, name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (InferenceError, redis.RedisError) as error:
            if self._trouble.get(name) != str(error):
                log.warning("%s cannot be used now: %s", name, error)
            self._trouble[name] = str(error)
        else:
            if self._trouble.pop(name, None):
                log.warning("%s can be used again", name)
