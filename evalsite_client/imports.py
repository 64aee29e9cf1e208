"""Results as files: those that were played elsewhere go up, those of a leaderboard come down."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from evalsite_client.api import imports, leaderboards
from evalsite_client.api.imports import MadeImport, StruckImport
from evalsite_client.api.shared import Form
from evalsite_client.decoding import decode
from evalsite_client.downloads import download_stream
from evalsite_client.transport import UPLOAD_TIMEOUT_S
from evalsite_client.uploads import Sent, make_form


class Imports(imports.Imports):
    """Imports of results that were played elsewhere."""

    def upload(
        self,
        file: Path | str,
        *,
        leaderboard: str,
        columns: Mapping[str, str] | None = None,
        form: Form | Literal[""] = "",
        adds_agents: bool = False,
        progress: Sent | None = None,
        key: str | None = None,
    ) -> MadeImport:
        """Put the results of a file on a leaderboard; the same file again changes nothing.

        Raises InputError if it cannot be read, ProblemError naming line, column and value of each
        row that is refused: then nothing was imported.

        columns: names by part of a row (first, second, result, key), where they are not usual.
        form: empty: as the file's name ends.
        adds_agents: names that are no agents of the game become imported ones, never played.
        progress: told of bytes so far and in all; begins again from 0 when the call is sent again.
        """
        fields = {
            "leaderboard": leaderboard,
            "columns": dict(columns or {}),
            "form": form,
            "adds_agents": adds_agents,
        }
        body = make_form(Path(file), fields, progress=progress)
        return decode(MadeImport, self._transport.upload("imports", body, key=key))

    def strike(self, batch: int, *, reason: str, key: str | None = None) -> StruckImport:
        """Let all results of an import count no more."""
        # A million of them take half a minute.
        path, body = f"imports/{batch}/strike", {"reason": reason}
        answer = self._transport.post(path, body, key=key, timeout_s=UPLOAD_TIMEOUT_S)
        return decode(StruckImport, answer)


class Leaderboards(leaderboards.Leaderboards):
    """Leaderboards, their ratings, and their results as files."""

    def download_results(self, leaderboard: str, path: Path | str, *, form: Form = "csv") -> Path:
        """Write all results that the ratings of a leaderboard count to a path; return it.

        form: pgn has tags and result of each game of two, as BayesElo and Ordo read them. Raises
        ProblemError, ChecksumError, UnreachableError; nothing is then at the path that was not.
        """
        target = Path(path)
        address = f"leaderboards/{quote(leaderboard, safe='')}/results"
        download_stream(
            self._transport, lambda: self._transport.open_file(address, {"form": form}), target
        )
        return target
