"""Carries reports to the broker in a thread of its own: a broker that hangs stops no match."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from arena.messages import REPORTS_QUEUE, Alive, Report
from workers.doorbells import Ring, unheard
from workers.errors import PublishError

log = logging.getLogger(__name__)

BACKOFF_S = 0.5
Publish = Callable[[Report, str], None]
"""Sends a report to a queue. Raises PublishError."""
MAX_BELLS = 256
"""Doorbells that wait for a broker that hangs; whoever rang rings again."""


class Kept(NamedTuple):
    """A report that waits, for which queue, and until when it is worth sending."""

    report: Report
    queue: str
    until: float


class Outbox:
    """Reports in the order in which they are sent, and the sign of life between them."""

    def __init__(
        self,
        publish: Publish,
        alive: Callable[[], Alive],
        *,
        alive_s: float,
        now: float,
        ring: Ring = unheard,
    ) -> None:
        self._publish, self._alive, self._alive_s = publish, alive, alive_s
        self._ring = ring
        self._bells: deque[tuple[int, str]] = deque(maxlen=MAX_BELLS)
        self._alive_at = self._retry_at = now
        self._kept: deque[Kept] = deque()
        self._is_up = True

    def __len__(self) -> int:
        return len(self._kept)

    def add_bell(self, shard: int, lease: str) -> None:
        """Have a doorbell sent before all reports; one that cannot be sent is dropped."""
        self._bells.append((shard, lease))

    def add(self, report: Report, *, queue: str, until: float) -> None:
        """Keep a report; what cannot be sent until then is given up."""
        self._kept.append(Kept(report, queue, until))

    def pump(self, now: float) -> float:
        """Send what is due; return the seconds after which to come again."""
        self._ring_all()
        self._give_up(now)
        if now < self._retry_at:
            return self._retry_at - now
        try:
            self._send_due(now)
        except PublishError as error:
            self._note_down(error)
            self._retry_at = now + BACKOFF_S
            return BACKOFF_S
        return max(0.0, self._alive_at - now)

    def _ring_all(self) -> None:
        try:
            while self._bells:
                self._ring(*self._bells.popleft())
        except PublishError as error:
            log.warning("a doorbell of the gpu queue was not sent: %s", error)

    def _send_due(self, now: float) -> None:
        if now >= self._alive_at:
            self._publish(self._alive(), REPORTS_QUEUE)
            self._alive_at = now + self._alive_s
            self._note_up()
        while self._kept:
            self._publish(self._kept[0].report, self._kept[0].queue)
            self._kept.popleft()
            self._note_up()
            self._ring_all()

    def _give_up(self, now: float) -> None:
        n_before = len(self._kept)
        while self._kept and self._kept[0].until < now:
            self._kept.popleft()
        if len(self._kept) < n_before:
            n_lost = n_before - len(self._kept)
            log.error(
                "%d reports given up, the broker is away too long: deadlines bring them back",
                n_lost,
            )

    def _note_down(self, error: PublishError) -> None:
        if self._is_up:
            log.warning("%d reports wait until the broker takes them: %s", len(self._kept), error)
        self._is_up = False

    def _note_up(self) -> None:
        if not self._is_up:
            log.warning("the broker takes reports again")
        self._is_up = True


class Courier:
    """The thread that pumps an outbox."""

    def __init__(
        self,
        publish: Publish,
        alive: Callable[[], Alive],
        *,
        alive_s: float,
        clock: Callable[[], float] = time.monotonic,
        ring: Ring = unheard,
    ) -> None:
        self._clock = clock
        self._outbox = Outbox(publish, alive, alive_s=alive_s, now=clock(), ring=ring)
        self._has_news = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="courier", daemon=True)

    def start(self) -> None:
        """Begin, with a sign of life."""
        self._thread.start()

    def post(self, report: Report, *, queue: str, keep_s: float) -> None:
        """Have a report sent to a queue soon; while the broker is away keep it so many seconds."""
        self._outbox.add(report, queue=queue, until=self._clock() + keep_s)
        self._has_news.set()

    def ring(self, shard: int, lease: str) -> None:
        """Have a doorbell sent at once; returns at once."""
        self._outbox.add_bell(shard, lease)
        self._has_news.set()

    def close(self, limit_s: float) -> None:
        """Send what waits, for at most so many seconds."""
        self._is_closing = True
        self._has_news.set()
        if self._thread.is_alive():
            self._thread.join(limit_s)
        if len(self._outbox):
            log.error("%d reports could not be sent before the node stopped", len(self._outbox))

    def _run(self) -> None:
        while True:
            self._has_news.clear()
            wait_s = self._outbox.pump(self._clock())
            if self._is_closing and not len(self._outbox):
                return
            self._has_news.wait(wait_s)
