"""Carries reports to the broker in a thread of its own: a broker that hangs stops no match."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from arena.messages import Alive, Report
from arena.queues import REPORTS_QUEUE
from workers.doorbells import Ring, ignore_doorbell
from workers.errors import PublishError

log = logging.getLogger(__name__)

BACKOFF_S = 0.5
# Sends a report to a queue. Raises PublishError.
Publish = Callable[[Report, str], None]
# Doorbells that wait for a broker that hangs; whoever rang rings again.
MAX_DOORBELLS = 256


class WaitingReport(NamedTuple):
    """A report, for which queue, and until when it is worth sending."""

    report: Report
    queue: str
    until: float


class Outbox:
    """Reports in the order in which they are sent, and the sign of life between them."""

    def __init__(
        self,
        publish: Publish,
        sign_of_life: Callable[[], Alive],
        *,
        alive_s: float,
        now: float,
        ring: Ring = ignore_doorbell,
    ) -> None:
        self._publish, self._sign_of_life, self._alive_s = publish, sign_of_life, alive_s
        self._ring = ring
        self._doorbells: deque[tuple[int, str]] = deque(maxlen=MAX_DOORBELLS)
        self._alive_at = self._retry_at = now
        self._reports: deque[WaitingReport] = deque()
        self._is_up = True

    def __len__(self) -> int:
        return len(self._reports)

    def add_doorbell(self, shard: int, lease: str) -> None:
        """Have a doorbell sent before all reports; one that cannot be sent is dropped."""
        self._doorbells.append((shard, lease))

    def add_report(self, report: Report, *, queue: str, until: float) -> None:
        """Keep a report; what cannot be sent until then is given up."""
        self._reports.append(WaitingReport(report, queue, until))

    def send_due(self, now: float) -> float:
        """Send what is due; return the seconds after which to come again."""
        self._ring_doorbells()
        n_before = len(self._reports)
        while self._reports and self._reports[0].until < now:
            self._reports.popleft()
        if n_dropped := n_before - len(self._reports):
            away = "%d reports given up, the broker is away too long: deadlines bring them back"
            log.error(away, n_dropped)
        if now < self._retry_at:
            return self._retry_at - now
        try:
            self._send_reports(now)
        except PublishError as error:
            if self._is_up:  # said once, not at each try
                n_waiting = len(self._reports)
                log.warning("%d reports wait until the broker takes them: %s", n_waiting, error)
            self._is_up = False
            self._retry_at = now + BACKOFF_S
            return BACKOFF_S
        return max(0.0, self._alive_at - now)

    def _ring_doorbells(self) -> None:
        try:
            while self._doorbells:
                self._ring(*self._doorbells.popleft())
        except PublishError as error:
            log.warning("a doorbell of the gpu queue was not sent: %s", error)

    def _send_reports(self, now: float) -> None:
        # First: a node that is silent for long is taken for lost, however much it has to report.
        if now >= self._alive_at:
            self._publish(self._sign_of_life(), REPORTS_QUEUE)
            self._alive_at = now + self._alive_s
            self._note_sent()
        while self._reports:
            self._publish(self._reports[0].report, self._reports[0].queue)
            # Only now: a report whose sending failed is sent again, and control counts it once.
            self._reports.popleft()
            self._note_sent()
            self._ring_doorbells()

    def _note_sent(self) -> None:
        if not self._is_up:
            log.warning("the broker takes reports again")
        self._is_up = True


class OutboxThread:
    """Sends what is in an outbox, in a thread of its own."""

    def __init__(
        self,
        publish: Publish,
        sign_of_life: Callable[[], Alive],
        *,
        alive_s: float,
        clock: Callable[[], float] = time.monotonic,
        ring: Ring = ignore_doorbell,
    ) -> None:
        self._clock = clock
        self._outbox = Outbox(publish, sign_of_life, alive_s=alive_s, now=clock(), ring=ring)
        self._has_news = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._send_until_closed, name="outbox", daemon=True)

    def start(self) -> None:
        """Begin, with a sign of life."""
        self._thread.start()

    def post_report(self, report: Report, *, queue: str, keep_s: float) -> None:
        """Have a report sent to a queue soon; while the broker is away keep it so many seconds."""
        self._outbox.add_report(report, queue=queue, until=self._clock() + keep_s)
        self._has_news.set()

    def post_doorbell(self, shard: int, lease: str) -> None:
        """Have a doorbell sent at once; returns at once."""
        self._outbox.add_doorbell(shard, lease)
        self._has_news.set()

    def close(self, limit_s: float) -> None:
        """Send what waits, for at most so many seconds."""
        self._is_closing = True
        self._has_news.set()
        if self._thread.is_alive():
            self._thread.join(limit_s)
        if len(self._outbox):
            log.error("%d reports could not be sent before the node stopped", len(self._outbox))

    def _send_until_closed(self) -> None:
        while True:
            # Cleared before the look: what is posted during it wakes the thread again.
            self._has_news.clear()
            wait_s = self._outbox.send_due(self._clock())
            if self._is_closing and not len(self._outbox):
                return
            self._has_news.wait(wait_s)
