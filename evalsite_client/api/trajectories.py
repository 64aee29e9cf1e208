"""Trajectories of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.api.shared import Column
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Piece:
    """A Parquet file with the rows of some matches; the outcomes of those name its hash.

    expires_at: When it is deleted; empty: never.
    href: Where it is fetched, without a login, for about a day.
    """

    sha256: str
    n_bytes: int
    created_at: datetime
    expires_at: datetime | None
    href: str


@dataclass(frozen=True)
class Manifest:
    """What is in the pieces of a tournament; the list of pieces says where they are.

    trajectories: The format of the files.
    is_complete: False: more pieces may come.
    """

    tournament: int
    trajectories: str
    game: str
    game_parameters: Mapping[str, Any]
    rules_version: int
    opening_plies: int
    seed: int
    observation_shape: tuple[int, ...]
    n_actions: int
    schema: tuple[Column, ...]
    is_complete: bool
    n_pieces: int
    n_bytes: int


class Trajectories(Calls):
    """List the pieces of a tournament with a link to each."""

    def list(self, *, tournament: int, page_size: int | None = None) -> Rows[Piece]:
        """Yield trajectories, fetched page by page as they are asked for."""
        return self._rows(Piece, "trajectories", {"tournament": tournament, "page_size": page_size})

    def manifest(self, tournament: int) -> Manifest:
        """Say what the pieces of a tournament hold."""
        return self._get(Manifest, "trajectories/manifest", {"tournament": tournament})
