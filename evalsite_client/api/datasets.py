"""Datasets of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import quote

from evalsite_client.api.shared import Column
from evalsite_client.calls import Calls
from evalsite_client.records import Rows

Source = Literal["experience", "trajectories"]


DatasetState = Literal["planning", "building", "ready", "failed"]


@dataclass(frozen=True)
class Dataset:
    """A dataset and how far it is.

    query: What was asked for.
    shard_steps: So many steps make a file.
    problem: Why it failed or waits.
    n_steps_unfinished: Left out: of episodes of which not every step is there.
    """

    id: int
    name: str
    game: str
    source: Source
    query: Mapping[str, Any]
    shard_steps: int
    state: DatasetState
    problem: str
    n_episodes: int
    n_steps: int
    n_steps_unfinished: int
    n_bytes: int
    created_by: str
    created_at: datetime
    ready_at: datetime | None


Results = Literal["win", "draw", "loss"]


@dataclass(frozen=True)
class DatasetFile:
    """A shard as the manifest names it."""

    file: str
    sha256: str
    n_bytes: int
    n_steps: int
    first_episode: int
    n_episodes: int


@dataclass(frozen=True)
class DatasetManifest:
    """What is in a dataset: equal for equal queries of equal sources.

    n_steps_unfinished: Left out: of unfinished episodes.
    """

    format: str
    name: str
    game: str
    source: str
    query: Mapping[str, Any]
    n_episodes: int
    n_steps: int
    n_steps_unfinished: int
    n_bytes: int
    observation_shape: tuple[int, ...]
    n_actions: int
    schema: tuple[Column, ...]
    shards: tuple[DatasetFile, ...]


@dataclass(frozen=True)
class DatasetShard:
    """A Parquet file of whole episodes.

    sha256: Empty: not yet.
    url: Good for a day without a login; empty until it is written.
    """

    number: int
    sha256: str
    n_bytes: int
    n_steps: int
    first_episode: int
    n_episodes: int
    url: str


class Datasets(Calls):
    """Datasets, the newest first."""

    def list(
        self,
        *,
        game: str | None = None,
        state: DatasetState | None = None,
        page_size: int | None = None,
    ) -> Rows[Dataset]:
        """Yield datasets, fetched page by page as they are asked for."""
        return self._rows(
            Dataset, "datasets", {"game": game, "state": state, "page_size": page_size}
        )

    def build(
        self,
        *,
        name: str,
        game: str,
        source: Source = "experience",
        since: datetime | None = None,
        until: datetime | None = None,
        users: Sequence[str] | None = None,
        min_version: int | None = None,
        max_version: int | None = None,
        min_return: float | None = None,
        max_return: float | None = None,
        leaderboard: str = "",
        tournaments: Sequence[int] | None = None,
        agents: Sequence[str] | None = None,
        top: int | None = None,
        opponents: Sequence[str] | None = None,
        results: Sequence[Results] | None = None,
        most_steps: int = 5000000,
        shard_steps: int = 50000,
        key: str | None = None,
    ) -> Dataset:
        """Begin a dataset: control plans and writes it.

        source: What players uploaded, or decisions in matches that kept trajectories.
        since: When uploads were written to a file, or matches ended.
        users: Who uploaded them; none: anybody.
        min_version: Of the policy that chose; -1: none of ours, such as a human.
        min_return: Sum of the rewards of an episode.
        leaderboard: Matches of this board only.
        tournaments: Matches of these only.
        agents: Whose decisions are taken; none: everybody's.
        top: And those of so many best of the leaderboard, as it stands now.
        opponents: Only where one of these was met.
        results: Only where it ended so for who decided.
        """
        return self._post(
            Dataset,
            "datasets",
            {
                "name": name,
                "game": game,
                "source": source,
                "since": since,
                "until": until,
                "users": users,
                "min_version": min_version,
                "max_version": max_version,
                "min_return": min_return,
                "max_return": max_return,
                "leaderboard": leaderboard,
                "tournaments": tournaments,
                "agents": agents,
                "top": top,
                "opponents": opponents,
                "results": results,
                "most_steps": most_steps,
                "shard_steps": shard_steps,
            },
            key=key,
        )

    def get(self, dataset: str) -> Dataset:
        """Return one dataset."""
        return self._get(Dataset, f"datasets/{quote(dataset, safe='')}")

    def delete(self, dataset: str) -> None:
        """Delete a dataset with its files; what was learned from it stays."""
        self._transport.delete(f"datasets/{quote(dataset, safe='')}")

    def manifest(self, dataset: str) -> DatasetManifest:
        """Say what is in a dataset that is ready."""
        return self._get(DatasetManifest, f"datasets/{quote(dataset, safe='')}/manifest")

    def shards(self, dataset: str, *, page_size: int | None = None) -> Rows[DatasetShard]:
        """Return the files of a dataset, each with a link."""
        return self._rows(
            DatasetShard, f"datasets/{quote(dataset, safe='')}/shards", {"page_size": page_size}
        )
