"""Models of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from evalsite_client.api.shared import TrainingRunState
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class PublishedModel:
    """A run and what it has published.

    n_steps: Learned from.
    n_versions: Published so far.
    released_version: The latest that was judged and released.
    """

    run: str
    game: str
    algorithm: str
    state: TrainingRunState
    n_steps: int
    n_versions: int
    latest_version: int
    released_version: int | None
    n_downloads: int
    created_at: datetime


VersionState = Literal["snapshot", "expired", "candidate", "released", "held", "retired"]


@dataclass(frozen=True)
class Version:
    """A version of a run's policy, and where its weights are loaded from.

    size: Bytes of the file.
    parameters: Of the architecture.
    observation_shape: Of what it sees; empty where the game is not here any more.
    n_actions: That it chooses from.
    reason: Why it has this state.
    n_steps: Learned from by then.
    agent: That plays it, once it was a candidate.
    url: Of the sealed safetensors file, good for a day without a login; empty where the file is
        gone.
    """

    run: str
    game: str
    version: int
    sha256: str
    size: int
    architecture: str
    parameters: Mapping[str, Any]
    observation_shape: tuple[int, ...]
    n_actions: int | None
    state: VersionState
    reason: str
    n_steps: int
    metrics: Mapping[str, Any]
    agent: int | None
    campaign: int | None
    n_downloads: int
    created_at: datetime
    judged_at: datetime | None
    url: str


class Models(Calls):
    """Runs with a published version, the newest first."""

    def list(
        self, *, game: str | None = None, page_size: int | None = None
    ) -> Rows[PublishedModel]:
        """Yield models, fetched page by page as they are asked for."""
        return self._rows(PublishedModel, "models", {"game": game, "page_size": page_size})

    def get(self, model: str) -> PublishedModel:
        """Return one model."""
        return self._get(PublishedModel, f"models/{quote(model, safe='')}")

    def best(self, model: str) -> Version:
        """Return the version of the highest settled rating on the leaderboard that judged it."""
        return self._get(Version, f"models/{quote(model, safe='')}/best")

    def latest(self, model: str, *, released: bool | None = None) -> Version:
        """Return the latest version; its hash is the ETag, so that asking again costs little.

        released: The latest that was judged and released; else the newest, which players of a
            run in training load.
        """
        return self._get(Version, f"models/{quote(model, safe='')}/latest", {"released": released})

    def release(self, model: str, *, reason: str, version: int, key: str | None = None) -> Version:
        """Release a version that was held or withdrawn."""
        return self._post(
            Version,
            f"models/{quote(model, safe='')}/release",
            {"reason": reason, "version": version},
            key=key,
        )

    def retire(self, model: str, *, reason: str, version: int, key: str | None = None) -> Version:
        """Withdraw a version: nobody loads it from then on."""
        return self._post(
            Version,
            f"models/{quote(model, safe='')}/retire",
            {"reason": reason, "version": version},
            key=key,
        )

    def versions(self, model: str, *, page_size: int | None = None) -> Rows[Version]:
        """Return what a run has published, the newest first."""
        return self._rows(
            Version, f"models/{quote(model, safe='')}/versions", {"page_size": page_size}
        )
