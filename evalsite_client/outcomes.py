"""Outcomes: the one result of a match."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from evalsite_client.names import Noun
from evalsite_client.pages import rows


@dataclass(frozen=True)
class Outcome:
    """A result; ranks by seat, 0 is the best, no guilty seat: -1.

    Equal ranks are a draw, or mates of a team.
    """

    ranks: tuple[int, ...]
    is_forfeit: bool
    guilty_seat: int
    reason: str
    attempt: int
    actions: str
    trajectory: str
    recorded_at: datetime


@dataclass(frozen=True)
class ListedOutcome(Outcome):
    """An outcome with its match; agents: their ids by seat."""

    match: int
    sequence: int
    agents: tuple[int, ...]


class Outcomes(Noun):
    """Outcomes: list."""

    path = "outcomes"

    def list(self, *, tournament: int, page_size: int | None = None) -> Iterator[ListedOutcome]:
        """Yield the outcomes of a tournament in planned order."""
        wanted = {"tournament": tournament, "page_size": page_size}
        return rows(self._transport, self.path, ListedOutcome, wanted)
