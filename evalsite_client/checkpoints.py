"""Checkpoints: immutable weights, named by the SHA-256 of their sealed file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Required, TypedDict, Unpack

from evalsite_client.decoding import decode
from evalsite_client.downloads import Received, download
from evalsite_client.errors import WaitTimeoutError
from evalsite_client.names import AgentName, Noun
from evalsite_client.pages import rows
from evalsite_client.uploads import Sent, form, length, sha256

MaybePlacement = Literal["local", "gpu", ""]
CheckpointState = Literal["checking", "ready", "refused"]


@dataclass(frozen=True)
class Checkpoint:
    """Weights with what is known of them; ready or refused once they are checked."""

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
    forced_placement: MaybePlacement
    measured_placement: MaybePlacement
    state: CheckpointState
    reason: str
    waits_for: str
    created_at: datetime
    checked_at: datetime | None
    agents: tuple[AgentName, ...]


@dataclass(frozen=True)
class Link:
    """Where a file is fetched, without a login, for about a day: path and query on the server."""

    href: str


class NewCheckpoint(TypedDict, total=False):
    """What is told with the file; a sealed one needs neither game nor architecture.

    name: of the agent, without the step; parent: a hash or an agent's name.
    """

    name: Required[str]
    game: str
    architecture: str
    parameters: Mapping[str, Any]
    step: int | None
    parent: str
    sha256: str
    placement: MaybePlacement


class CheckpointFilter(TypedDict, total=False):
    """Which checkpoints to list."""

    game: str
    run: str
    state: CheckpointState


class Checkpoints(Noun):
    """Checkpoints: list, look at, upload, download."""

    path = "checkpoints"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[CheckpointFilter]
    ) -> Iterator[Checkpoint]:
        """Yield checkpoints, the newest first."""
        return rows(self._transport, self.path, Checkpoint, {**wanted, "page_size": page_size})

    def get(self, checkpoint: str) -> Checkpoint:
        """Return one checkpoint by its hash."""
        return decode(Checkpoint, self._transport.get(f"{self.path}/{checkpoint}"))

    def upload(
        self,
        file: Path | str,
        *,
        progress: Sent | None = None,
        key: str | None = None,
        **wanted: Unpack[NewCheckpoint],
    ) -> Checkpoint:
        """Send a safetensors file, which makes the agent NAME, or NAME@STEP; then it is checked.

        The file is sent as it is read, with its hash, which the server compares. Raises InputError
        if it cannot be read.
        """
        path = Path(file)
        length(path)
        fields = {"sha256": sha256(path), **wanted}
        sent = self._transport.upload(self.path, form(path, fields, progress=progress), key=key)
        return decode(Checkpoint, sent)

    def link(self, checkpoint: str) -> Link:
        """Return a link to the sealed file."""
        return decode(Link, self._transport.get(f"{self.path}/{checkpoint}/link"))

    def download(
        self, checkpoint: str, path: Path | str, *, progress: Received | None = None
    ) -> Path:
        """Fetch the sealed file to a path. Raises ChecksumError."""

        def link() -> str:
            return self.link(checkpoint).href

        return download(self._transport, link, Path(path), digest=checkpoint, progress=progress)

    def wait(
        self, checkpoint: str, *, timeout_s: float | None = None, poll_s: float = 0.5
    ) -> Checkpoint:
        """Return the checkpoint once it is checked: ready or refused. Raises WaitTimeoutError."""
        clock = self._transport.clock
        begun = clock.monotonic()
        while (found := self.get(checkpoint)).state == "checking":
            if timeout_s is not None and clock.monotonic() - begun >= timeout_s:
                waits = f"; it waits for {found.waits_for}" if found.waits_for else ""
                raise WaitTimeoutError(f"{checkpoint:.12} is still being checked{waits}")
            clock.sleep(poll_s)
        return found
