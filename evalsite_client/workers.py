"""Workers: the nodes that play and those that answer for networks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.explanations import Explained
from evalsite_client.pages import rows


@dataclass(frozen=True)
class Worker:
    """A node as it describes itself; alive: it has reported lately."""

    id: int
    node: str
    slots: int
    capabilities: tuple[str, ...]
    versions: Mapping[str, Any]
    is_alive: bool
    first_seen_at: datetime
    last_seen_at: datetime
    quarantined_at: datetime | None
    quarantine_reason: str


class WorkerFilter(TypedDict, total=False):
    """Which workers to list."""

    node: str


class Workers(Explained):
    """Workers: list, look at."""

    path = "workers"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[WorkerFilter]
    ) -> Iterator[Worker]:
        """Yield workers, the newest first."""
        return rows(self._transport, self.path, Worker, {**wanted, "page_size": page_size})

    def get(self, worker: int) -> Worker:
        """Return one worker."""
        return decode(Worker, self._transport.get(f"{self.path}/{worker}"))

    def quarantine(self, worker: int, *, reason: str, key: str | None = None) -> Worker:
        """Take back what a node has in hand, and refuse what it reports from now on."""
        return self._operated(worker, "quarantine", reason, key)

    def release(self, worker: int, *, reason: str = "", key: str | None = None) -> Worker:
        """End the quarantine of a node: it gets orders again."""
        return self._operated(worker, "release", reason, key)

    def _operated(self, worker: int, change: str, reason: str, key: str | None) -> Worker:
        path, body = f"{self.path}/{worker}/{change}", {"reason": reason}
        return decode(Worker, self._transport.post(path, body, key=key))
