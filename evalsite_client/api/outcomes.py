"""Outcomes of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass

from evalsite_client.api.shared import Outcome
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class ListedOutcome(Outcome):
    """An outcome with its match; the agents by seat.

    agents: Return the agents' ids by seat.
    """

    match: int
    sequence: int
    agents: tuple[int, ...]


class Outcomes(Calls):
    """The results of a tournament in planned order."""

    def list(self, *, tournament: int, page_size: int | None = None) -> Rows[ListedOutcome]:
        """Yield outcomes, fetched page by page as they are asked for."""
        return self._rows(
            ListedOutcome, "outcomes", {"tournament": tournament, "page_size": page_size}
        )
