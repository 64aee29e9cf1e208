"""Chunks on their way to the server: each is sent until it is answered, and counts once."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from numpy.random import Generator

from evalsite_client.api.experience import Accepted
from evalsite_client.errors import ProblemError, UnreachableError
from evalsite_client.experience.chunks import Chunk
from evalsite_client.experience.releases import Say
from evalsite_client.experience.stopping import Stop
from evalsite_client.retries import AWAY_S, PASSING_STATUSES, Clock

QUOTA_S: Final = 3_700.0
"""A quota is of an hour: who waits longer for one chunk waits for nothing."""
PAUSE_S: Final = 1.0


@dataclass
class Counts:
    """What became of the chunks: in steps, duplicates and waits as they were met."""

    n_chunks: int = 0
    n_sent: int = 0
    n_left_out: int = 0
    n_duplicates: int = 0
    waited_s: float = 0.0


class Uploader:
    """Sends chunks in their order, and as many of them as the server asks for."""

    def __init__(
        self,
        send: Callable[[bytes], Accepted],
        *,
        clock: Clock,
        rng: Generator,
        stop: Stop,
        say: Say,
    ) -> None:
        """send: one call of the API; rng: draws which chunks are kept; stop: ends a wait."""
        self._send, self._clock, self._rng = send, clock, rng
        self._stop, self._say = stop, say
        self._waiting: deque[Chunk] = deque()
        self._keep_fraction = 1.0
        self.latest_version = -1
        self.counts = Counts()

    @property
    def n_waiting(self) -> int:
        """Return how many steps are not sent yet."""
        return sum(chunk.n_steps for chunk in self._waiting)

    def offer(self, chunk: Chunk) -> None:
        """Keep a chunk to send, or leave it out: the server says which share it wants."""
        # Drawn always: which are kept then depends on the seed and on the answers alone.
        if self._rng.random() < self._keep_fraction:
            self._waiting.append(chunk)
        else:
            self.counts.n_left_out += chunk.n_steps

    def send_all(self, *, limit_s: float = QUOTA_S) -> None:
        """Send what waits; wait where the server asks for it, `limit_s` for a chunk at most.

        Raises ClientError of a refusal, or when no answer has come for so long, and
        KeyboardInterrupt where it is stopped; the chunk stays.
        """
        while self._waiting:
            chunk = self._waiting[0]
            accepted = self._send_until_answered(chunk, limit_s)
            # Only now: one whose answer was lost is sent again under the same id.
            self._waiting.popleft()
            self._take_answer(accepted, chunk)

    def _take_answer(self, accepted: Accepted, chunk: Chunk) -> None:
        self.counts.n_chunks += 1
        self.counts.n_sent += chunk.n_steps
        self.counts.n_duplicates += accepted.duplicate
        self.latest_version = accepted.latest_policy_version
        self._keep_fraction = accepted.keep_fraction

    def _send_until_answered(self, chunk: Chunk, limit_s: float) -> Accepted:
        begun_s = self._clock.monotonic()
        while True:
            try:
                with self._stop.interrupt_wait():
                    return self._send(chunk.content)
            except (ProblemError, UnreachableError) as error:
                pause_s = self._choose_pause(error, self._clock.monotonic() - begun_s, limit_s)
                if pause_s is None:
                    raise
                self._say(f"waits {pause_s:.0f} s with {self.n_waiting:,} steps: {error}")
                with self._stop.interrupt_wait():
                    self._clock.sleep(pause_s)
                self.counts.waited_s += pause_s

    def _choose_pause(
        self, error: ProblemError | UnreachableError, waited_s: float, limit_s: float
    ) -> float | None:
        """Return for how long to wait before the next attempt, None to give up."""
        if isinstance(error, ProblemError) and error.status in PASSING_STATUSES:
            is_asked = error.retry_after_s is not None
            longest_s = limit_s if is_asked else min(limit_s, AWAY_S)
            pause_s = error.retry_after_s or PAUSE_S
        elif isinstance(error, UnreachableError) or (
            error.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        ):
            longest_s, pause_s = min(limit_s, AWAY_S), PAUSE_S
        else:
            return None
        return pause_s if waited_s + pause_s <= longest_s else None
