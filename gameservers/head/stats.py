"""What the head did lately: counts, latencies and the points of its plots."""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
import numpy as np

from arena.machine import measure_load
from gameservers.head.servers import ServerBoard, State

# Of the requests that latencies are told of.
N_LATENCIES, WITHIN_S = 2_000, 60.0
N_POINTS = 300

Number = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class Point(msgspec.Struct, frozen=True):
    """A moment of the plots; times in ms are None while nothing was answered."""

    at: Number
    servers: Number
    playing: Number
    episodes: Number
    batches: Number
    rows: Number
    p50_ms: Number | None
    p99_ms: Number | None
    cpu: Number | None
    memory: Number | None


class Stats:
    """Counts since the start; clock: seconds since 1970."""

    def __init__(self, board: ServerBoard, *, clock: Callable[[], float]) -> None:
        self._board, self._clock = board, clock
        self.n_requests = self.n_batches = self.n_rows = self.n_refused = 0
        self._latencies: deque[tuple[float, float]] = deque(maxlen=N_LATENCIES)
        self.points: deque[Point] = deque(maxlen=N_POINTS)

    def note_batch(self, n_rows: int, n_requests: int, took_s: float) -> None:
        """Take note of a block that a network has answered."""
        del took_s  # what callers wait is noted as latency, and includes it
        self.n_batches += 1
        self.n_rows += n_rows
        self.n_requests += n_requests

    def note_latency(self, took_s: float) -> None:
        """Take note of how long a caller waited for its decisions."""
        self._latencies.append((self._clock(), 1000 * took_s))

    def take_point(self) -> Point:
        """Add a point of now to the plots and return it."""
        now, load = self._clock(), measure_load()
        recent = [ms for at, ms in self._latencies if now - at <= WITHIN_S]
        p50, p99 = np.percentile(recent, (50, 99)) if recent else (None, None)
        servers = self._board.list_healthy()
        point = Point(
            at=round(now, 1),
            servers=len(servers),
            playing=sum(server.n_playing for server in servers),
            episodes=self._board.n_episodes,
            batches=self.n_batches,
            rows=self.n_rows,
            p50_ms=None if p50 is None else round(float(p50), 2),
            p99_ms=None if p99 is None else round(float(p99), 2),
            cpu=load.get("cpu"),
            memory=load.get("memory"),
        )
        self.points.append(point)
        return point

    def restore(self, points: Iterable[Point]) -> None:
        """Put the points of the head that ran before in front of our own."""
        own = list(self.points)
        self.points.clear()
        self.points.extend([*points, *own])

    def as_row(self) -> dict[str, Any]:
        """Return what pages and programs are told."""
        states = [server.state for server in self._board.list_all()]
        last = self.points[-1] if self.points else None
        return {
            "servers": {state.value: states.count(state) for state in State},
            "episodes": self._board.n_episodes,
            "playing": last.playing if last else 0,
            "requests": self.n_requests,
            "refused": self.n_refused,
            "batches": self.n_batches,
            "rows": self.n_rows,
            "rows_per_batch": round(self.n_rows / self.n_batches, 2) if self.n_batches else None,
            "p50_ms": last.p50_ms if last else None,
            "p99_ms": last.p99_ms if last else None,
            "cpu": last.cpu if last else None,
            "memory": last.memory if last else None,
        }
