"""Checkpoints of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from evalsite_client.api.shared import AgentName, Placement
from evalsite_client.calls import Calls
from evalsite_client.records import Rows

CheckpointState = Literal["checking", "ready", "refused"]


@dataclass(frozen=True)
class Checkpoint:
    """Immutable weights with what is known of them.

    parameters: Of the architecture.
    run: Name of the training run or family.
    step: Training step; empty: not known.
    source_name: Name of the file that was given.
    state_size: Floats of recurrent state per row; 0: feed-forward.
    row_ms: Measured forward of one row on one CPU core, in milliseconds.
    placement: Forced, else as measured.
    forced_placement: Empty: as measured.
    reason: Why it was refused.
    waits_for: What is missing to check it; empty while its check is under way or done.
    """

    id: int
    sha256: str
    game: str
    architecture: str
    parameters: Mapping[str, Any]
    run: str
    step: int | None
    parent: str | None
    source_name: str
    n_bytes: int
    n_parameters: int | None
    state_size: int
    row_ms: float | None
    placement: str
    forced_placement: Placement | Literal[""]
    measured_placement: Placement | Literal[""]
    state: CheckpointState
    reason: str
    waits_for: str
    created_at: datetime
    checked_at: datetime | None
    agents: tuple[AgentName, ...]


@dataclass(frozen=True)
class Link:
    """Where a file is fetched, without a login, for about a day.

    href: Path and query on this server.
    """

    href: str


class Checkpoints(Calls):
    """Checkpoints by the SHA-256 of their sealed file: checking, then ready or refused."""

    def list(
        self,
        *,
        game: str | None = None,
        run: str | None = None,
        state: CheckpointState | None = None,
        page_size: int | None = None,
    ) -> Rows[Checkpoint]:
        """Yield checkpoints, fetched page by page as they are asked for."""
        return self._rows(
            Checkpoint,
            "checkpoints",
            {"game": game, "run": run, "state": state, "page_size": page_size},
        )

    def get(self, checkpoint: str) -> Checkpoint:
        """Return one checkpoint."""
        return self._get(Checkpoint, f"checkpoints/{quote(checkpoint, safe='')}")

    def link(self, checkpoint: str) -> Link:
        """Return a link to the sealed file."""
        return self._get(Link, f"checkpoints/{quote(checkpoint, safe='')}/link")
