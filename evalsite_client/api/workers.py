"""Workers of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.api.shared import Explanation
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Worker:
    """A node as it describes itself.

    labels: Of its machine, by its operator.
    load: Of its machine: cpu, processes per core; memory, the share in use.
    plugins: SHA-256 of its plug-in files; empty: of an older version.
    game: What it plays, of a game server; of any other node empty.
    address: Where players dial a game server.
    lost_at: When a player last lost its line to this game server.
    is_alive: Return whether it has reported lately.
    quarantined_at: Since then it gets no order and nothing of it counts.
    """

    id: int
    node: str
    slots: int
    capabilities: tuple[str, ...]
    versions: Mapping[str, Any]
    labels: Mapping[str, Any]
    load: Mapping[str, Any]
    plugins: Mapping[str, Any] | None
    game: str
    address: str
    lost_at: datetime | None
    is_alive: bool
    first_seen_at: datetime
    last_seen_at: datetime
    quarantined_at: datetime | None
    quarantine_reason: str


class Workers(Calls):
    """Nodes, the newest first."""

    def list(self, *, node: str | None = None, page_size: int | None = None) -> Rows[Worker]:
        """Yield workers, fetched page by page as they are asked for."""
        return self._rows(Worker, "workers", {"node": node, "page_size": page_size})

    def get(self, worker: int) -> Worker:
        """Return one worker."""
        return self._get(Worker, f"workers/{worker}")

    def explain(self, worker: int) -> Explanation:
        """Say in which state it is, since when, what it waits for and what happens next."""
        return self._get(Explanation, f"workers/{worker}/explanation")

    def quarantine(self, worker: int, *, reason: str, key: str | None = None) -> Worker:
        """Take back what a node or game server has in hand, and refuse what comes of it."""
        return self._post(Worker, f"workers/{worker}/quarantine", {"reason": reason}, key=key)

    def release(self, worker: int, *, reason: str = "", key: str | None = None) -> Worker:
        """End the quarantine of a play node or game server: it gets matches again."""
        return self._post(Worker, f"workers/{worker}/release", {"reason": reason}, key=key)
