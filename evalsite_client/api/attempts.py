"""Attempts of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass

from evalsite_client.api.shared import Attempt, Ending
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class ListedAttempt(Attempt):
    """An attempt with its match."""

    match: int
    tournament: int


class Attempts(Calls):
    """Attempts that have ended, the newest first."""

    def list(
        self,
        *,
        ending: Ending | None = None,
        match: int | None = None,
        server: str | None = None,
        tournament: int | None = None,
        page_size: int | None = None,
    ) -> Rows[ListedAttempt]:
        """Yield attempts, fetched page by page as they are asked for."""
        return self._rows(
            ListedAttempt,
            "attempts",
            {
                "ending": ending,
                "match": match,
                "server": server,
                "tournament": tournament,
                "page_size": page_size,
            },
        )
