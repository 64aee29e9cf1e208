"""Imports of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Import:
    """A file of results on a leaderboard; its matches are those of its tournament.

    sha256: Of the file as it was sent.
    columns: By part of a row.
    state: importing, imported or struck.
    n_rows: Results in the file.
    n_known: Of those, here before under the same key.
    n_new_agents: Agents it brought with it.
    finished_at: Empty: its rows were not all written; the same file goes on.
    """

    id: int
    leaderboard: str
    tournament: int
    file_name: str
    sha256: str
    columns: Mapping[str, Any]
    state: str
    n_rows: int
    n_known: int
    n_new_agents: int
    actor: str
    created_at: datetime
    finished_at: datetime | None
    struck_at: datetime | None


@dataclass(frozen=True)
class MadeImport(Import):
    """The same, and what this call has added.

    n_new: Rows that were not here before.
    """

    n_new: int


@dataclass(frozen=True)
class StruckImport(Import):
    """The same, and what became void.

    n_struck: Matches that count no more.
    """

    n_struck: int


class Imports(Calls):
    """Imports of results that were played elsewhere."""

    def list(self, *, leaderboard: str | None = None, page_size: int | None = None) -> Rows[Import]:
        """Yield imports, fetched page by page as they are asked for."""
        return self._rows(
            Import, "imports", {"leaderboard__name": leaderboard, "page_size": page_size}
        )

    def get(self, batch: int) -> Import:
        """Return one batch."""
        return self._get(Import, f"imports/{batch}")

    def strike(self, batch: int, *, reason: str, key: str | None = None) -> StruckImport:
        """Let all results of an import count no more."""
        return self._post(StruckImport, f"imports/{batch}/strike", {"reason": reason}, key=key)
