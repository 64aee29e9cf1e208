"""gpu workers without Celery: threads that answer doorbells, which travel in a queue."""

import queue
import threading
from collections import Counter
from dataclasses import replace
from typing import Any

from inference.client import InferenceClient
from inference.connection import FastConnection
from inference.drain import drain
from inference.drain_loop import AnsweredRequests, DrainTools
from inference.protocol import Answerer
from inference.settings import Settings
from inference.tests.echo import EchoEngine
from inference.tests.servers import Server

QUICK = Settings(retry_after_ms=400, deadline_ms=5_000, linger_ms=20, slice_ms=100, lease_ms=300)


class Drainers:
    """Threads with one engine; told what was done by each slice."""

    def __init__(
        self,
        server: Server,
        *,
        settings: Settings = QUICK,
        engine: Answerer | None = None,
        n_threads: int = 1,
    ) -> None:
        self.server, self.settings = server, settings
        self.engine = engine or EchoEngine()
        self.slices: list[dict[str, int]] = []
        self.n_rung = 0
        self.lost: list[tuple[int, str]] = []
        self.n_to_lose = 0
        self._answered = AnsweredRequests()
        self.is_stopping = self.is_broken = self.is_broker_away = False
        self._doorbells: queue.SimpleQueue[tuple[int, str] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def ring(self, shard: int, lease: str) -> None:
        """Publish a doorbell."""
        self.n_rung += 1
        if len(self.lost) < self.n_to_lose:
            self.lost.append((shard, lease))
        else:
            self._doorbells.put((shard, lease))

    def client(self, **changes: Any) -> InferenceClient:
        settings = replace(self.settings, **changes)
        return InferenceClient(self.server.url, settings=settings, ring=self.ring)

    def drain(self, shard: int, lease: str, connection: FastConnection) -> dict[str, int]:
        tools = DrainTools(
            connection=connection,
            engine=self.engine,
            settings=self.settings,
            ring=self._ring_again,
            stop=lambda: self.is_stopping,
            fail=self._fail,
            answered=self._answered,
        )
        counts = drain(tools, shard, lease)
        self.slices.append(counts)
        return counts

    @property
    def counts(self) -> Counter[str]:
        """Return what all slices have done."""
        total: Counter[str] = Counter()
        for counts in self.slices:
            total.update(counts)
        return total

    def close(self) -> None:
        """End the slices that run; a thread that fails shows in the counts that are missing."""
        self.is_stopping = True
        for _ in self._threads:
            self._doorbells.put(None)
        for thread in self._threads:
            thread.join(10)

    def _work(self) -> None:
        connection = FastConnection(self.server.url)
        while (doorbell := self._doorbells.get()) is not None:
            if not self.is_stopping:
                self.drain(*doorbell, connection)
        connection.close()

    def _ring_again(self, shard: int, lease: str) -> bool:
        if self.is_broker_away:
            return False
        self.ring(shard, lease)
        return True

    def _fail(self) -> None:
        self.is_broken = self.is_stopping = True


class Bells(list[tuple[int, str]]):
    """Doorbells that nobody answers until the test does."""

    def __call__(self, shard: int, lease: str) -> None:
        self.append((shard, lease))


def unanswered(store: Server, bells: Bells, **changes: Any) -> InferenceClient:
    return InferenceClient(store.url, settings=replace(QUICK, **changes), ring=bells)


def no_ring(shard: int, lease: str) -> None:
    """Refuse to be rung."""
    raise AssertionError("nothing was sent")
