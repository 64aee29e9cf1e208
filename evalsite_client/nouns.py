"""What takes more than one call: finding, files that go up and down, a verdict that is awaited.

The plain calls are generated, see evalsite_client/api.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from evalsite_client.api import agents, campaigns, checkpoints, experience, trajectories
from evalsite_client.api.agents import Agent
from evalsite_client.api.campaigns import CampaignDetail
from evalsite_client.api.checkpoints import Checkpoint
from evalsite_client.api.experience import Accepted
from evalsite_client.api.shared import Placement
from evalsite_client.api.trajectories import Piece
from evalsite_client.decoding import decode
from evalsite_client.downloads import Received, download_file
from evalsite_client.errors import WaitTimeoutError
from evalsite_client.retries import ask_again
from evalsite_client.uploads import Sent, compute_sha256, make_form


class Agents(agents.Agents):
    """Agents: a policy kind with its parameters in one game."""

    def find(self, name: str, *, game: str) -> Agent | None:
        """Return the agent of a name, which is unique within its game; None if there is none."""
        # Of no name the list would have every agent.
        return next(self.list(name=name, game=game), None) if name else None

    def of_run(self, run: str, *, game: str) -> Sequence[Agent]:
        """Return the agents of a run's checkpoints in a game that are not retired, by step.

        It is what the command line knows as RUN@*.
        """
        stored = checkpoints.Checkpoints(self._transport).list(run=run)
        by_step = sorted(
            (checkpoint for checkpoint in stored if checkpoint.game == game),
            key=lambda checkpoint: (
                -1 if checkpoint.step is None else checkpoint.step,
                checkpoint.id,
            ),
        )
        return [
            agent
            for checkpoint in by_step
            for agent in self.list(checkpoint=checkpoint.sha256, game=game, is_retired=False)
            if agent.name.partition("@")[0] == run
        ]


class Campaigns(campaigns.Campaigns):
    """Campaigns: tournaments with a question, which stop by themselves with a verdict."""

    def wait(
        self,
        campaign: int,
        *,
        progress: Callable[[CampaignDetail], None] | None = None,
        trouble: Callable[[str], None] | None = None,
        timeout_s: float | None = None,
        poll_s: float = 1.0,
    ) -> CampaignDetail:
        """Return the campaign once it has ended, with an answer or without.

        progress: told at every look; trouble: told why there is no answer, instead, while the
        server is away, which is waited for two minutes. Raises WaitTimeoutError after timeout_s;
        the campaign goes on then, as after Ctrl-C.
        """
        clock = self._transport.clock
        begun_s = clock.monotonic()
        # Asked again and again: the server has no call that waits for a verdict.
        for campaign_now, why_none in ask_again(lambda: self.get(campaign), clock, poll_s=poll_s):
            if why_none and trouble is not None:
                trouble(why_none)
            elif not why_none and progress is not None:
                progress(campaign_now)
            if campaign_now.is_over:
                break
            if timeout_s is not None and clock.monotonic() - begun_s >= timeout_s:
                raise WaitTimeoutError(f"campaign {campaign} has no verdict after {timeout_s:g} s")
        return campaign_now


class Checkpoints(checkpoints.Checkpoints):
    """Checkpoints: immutable weights, named by the SHA-256 of their sealed file."""

    def upload(
        self,
        file: Path | str,
        *,
        name: str,
        step: int | None = None,
        parent: str | None = None,
        game: str | None = None,
        architecture: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        placement: Placement | Literal[""] = "",
        progress: Sent | None = None,
        key: str | None = None,
    ) -> Checkpoint:
        """Send a safetensors file, which makes the agent NAME, or NAME@STEP; then it is checked.

        The file is sent as it is read, with its hash, which the server compares. Raises InputError
        if it cannot be read.

        parent: the hash of a checkpoint, or the name of an agent that has it.
        game, architecture, parameters: a sealed file says them itself.
        placement: empty: as measured.
        progress: told of bytes so far and in all; begins again from 0 when the call is sent again.
        """
        path = Path(file)
        fields = {
            "sha256": compute_sha256(path),
            "name": name,
            "step": step,
            "parent": parent,
            "game": game,
            "architecture": architecture,
            "parameters": parameters,
            "placement": placement,
        }
        body = make_form(path, fields, progress=progress)
        return decode(Checkpoint, self._transport.upload("checkpoints", body, key=key))

    def download(
        self, checkpoint: str, path: Path | str, *, progress: Received | None = None
    ) -> Path:
        """Fetch the sealed file to a path. Raises ChecksumError."""

        def link() -> str:
            # Asked for anew at every attempt: a link ends after a while.
            return self.link(checkpoint).href

        return download_file(
            self._transport, link, Path(path), digest=checkpoint, progress=progress
        )

    def wait(
        self, checkpoint: str, *, timeout_s: float | None = None, poll_s: float = 0.5
    ) -> Checkpoint:
        """Return the checkpoint once it is checked: ready or refused. Raises WaitTimeoutError."""
        clock = self._transport.clock
        begun_s = clock.monotonic()
        for checkpoint_now, _ in ask_again(lambda: self.get(checkpoint), clock, poll_s=poll_s):
            if checkpoint_now.state != "checking":
                break
            if timeout_s is not None and clock.monotonic() - begun_s >= timeout_s:
                cause = checkpoint_now.waits_for
                waits = f"; it waits for {cause}" if cause else ""
                raise WaitTimeoutError(f"{checkpoint:.12} is still being checked{waits}")
        return checkpoint_now


class Experience(experience.Experience):
    """What players of a game saw and did."""

    def upload_chunk(self, content: bytes) -> Accepted:
        """Upload a chunk as MessagePack. Its id is the key: sent again, it is stored once."""
        body = self._transport.post_bytes("experience", content, kind="application/msgpack")
        return decode(Accepted, body)


class Trajectories(trajectories.Trajectories):
    """Trajectories of a tournament: what they hold, the list of pieces, their download."""

    def download(
        self, piece: Piece, folder: Path | str, *, progress: Received | None = None
    ) -> Path:
        """Fetch a piece as SHA256.parquet unless it is there already. Raises ChecksumError."""
        path = Path(folder) / f"{piece.sha256}.parquet"
        return download_file(
            self._transport, lambda: piece.href, path, digest=piece.sha256, progress=progress
        )

    def download_all(
        self,
        tournament: int,
        folder: Path | str,
        *,
        progress: Callable[[Piece], None] | None = None,
    ) -> tuple[Path, ...]:
        """Fetch all pieces of a tournament that are not in the folder yet; return all of them.

        progress: told of every piece that is there.
        """
        paths = []
        for piece in self.list(tournament=tournament):
            paths.append(self.download(piece, folder))
            if progress is not None:
                progress(piece)
        return tuple(paths)
