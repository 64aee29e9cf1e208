"""Trajectories: what a tournament has kept of its matches, as Parquet files."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from evalsite_client.decoding import decode
from evalsite_client.downloads import Received, download
from evalsite_client.names import Noun
from evalsite_client.pages import rows


@dataclass(frozen=True)
class Piece:
    """A Parquet file with the rows of some matches; the outcomes of those name its hash."""

    sha256: str
    n_bytes: int
    created_at: datetime
    expires_at: datetime | None
    href: str


@dataclass(frozen=True)
class Column:
    """A column of the files."""

    name: str
    type: str


@dataclass(frozen=True)
class Manifest:
    """What is in the pieces of a tournament; not complete: more pieces may come."""

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


class Trajectories(Noun):
    """Trajectories of a tournament: what they hold, the list of pieces, their download."""

    path = "trajectories"

    def manifest(self, tournament: int) -> Manifest:
        """Return what the pieces of a tournament hold."""
        found = self._transport.get(f"{self.path}/manifest", {"tournament": tournament})
        return decode(Manifest, found)

    def list(self, *, tournament: int, page_size: int | None = None) -> Iterator[Piece]:
        """Yield the pieces of a tournament, the newest first, with a link to each."""
        wanted = {"tournament": tournament, "page_size": page_size}
        return rows(self._transport, self.path, Piece, wanted)

    def download(
        self, piece: Piece, folder: Path | str, *, progress: Received | None = None
    ) -> Path:
        """Fetch a piece as SHA256.parquet unless it is there already. Raises ChecksumError."""
        path = Path(folder) / f"{piece.sha256}.parquet"
        return download(
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
