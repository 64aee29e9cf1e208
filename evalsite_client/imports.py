"""Results that were played elsewhere: a file of them goes up as it is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from evalsite_client.api import imports
from evalsite_client.api.imports import Form, MadeImport
from evalsite_client.decoding import decode
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
