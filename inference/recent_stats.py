"""What a gpu worker did within the last seconds, for the page of the system."""

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from arena.messages import Serving
from inference.drain_loop import PoppedRequest

# How many snapshots back the figures reach; one is taken each second.
SECONDS = 10
# Times to the answer that are kept per look, the newest ones.
MAX_WAITS = 4_096


class _Snapshot(NamedTuple):
    """What was counted until a moment, and the times to the answer since the look before."""

    at_s: float
    counts: Mapping[str, int]
    waits_ms: Sequence[float]


class RecentStats:
    """Figures of the last seconds; noted by the threads that answer, read once a second."""

    def __init__(self, gpu: str, shards: Sequence[int]) -> None:
        """gpu: the name of the worker; shards: those it serves."""
        self._gpu, self._shards = gpu, list(shards)
        self._lock = threading.Lock()
        self._waits_ms: deque[float] = deque(maxlen=MAX_WAITS)
        self._snapshots: deque[_Snapshot] = deque(maxlen=SECONDS)

    def note_batch(self, batch: Sequence[PoppedRequest], ended_ms: float) -> None:
        """Take note of a batch that was answered."""
        waits_ms = [ended_ms - popped.asked_ms for popped in batch]
        with self._lock:
            self._waits_ms.extend(waits_ms)

    def take_figures(
        self, counts: Mapping[str, int], *, n_waiting: int, n_faults: int, now_s: float
    ) -> Serving:
        """Return the figures until now. counts: of the engine, since its start."""
        # Swapped under the lock and read after it: the threads that answer must not wait.
        with self._lock:
            waits_ms, self._waits_ms = self._waits_ms, deque(maxlen=MAX_WAITS)
        self._snapshots.append(_Snapshot(now_s, dict(counts), list(waits_ms)))
        first = self._snapshots[0]
        passed_s = now_s - first.at_s

        def rate_of(counter: str) -> float:
            n = counts.get(counter, 0) - first.counts.get(counter, 0)
            return n / passed_s if passed_s > 0 else 0.0

        waits = np.concatenate([np.asarray(snapshot.waits_ms) for snapshot in self._snapshots])
        p50_ms = p99_ms = None
        if waits.size:
            # A client's clock may be ahead of ours by its error: no wait is below nothing.
            p50_ms, p99_ms = np.maximum(0.0, np.quantile(waits, (0.5, 0.99))).tolist()
        return Serving(
            gpu=self._gpu,
            shards=self._shards,
            n_waiting=n_waiting,
            n_models=counts.get("models_loaded", 0) - counts.get("models_evicted", 0),
            requests_per_s=rate_of("requests"),
            forwards_per_s=rate_of("forwards"),
            rows_per_s=rate_of("rows"),
            p50_ms=p50_ms,
            p99_ms=p99_ms,
            n_faults=n_faults,
        )
