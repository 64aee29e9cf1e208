"""Why is nothing happening? What a row waits for."""

from dataclasses import dataclass
from datetime import datetime

from evalsite_client.decoding import decode
from evalsite_client.names import Noun


@dataclass(frozen=True)
class Explanation:
    """Why something stands where it stands; `waits_for` is empty while nothing is missing."""

    subject: str
    id: int
    name: str
    state: str
    since: datetime | None
    age_s: float | None
    summary: str
    waits_for: tuple[str, ...]
    next: str
    next_at: datetime | None
    notes: tuple[str, ...]


class Explained(Noun):
    """A noun whose rows say why they stand where they stand."""

    path: str

    def explain(self, number: int) -> Explanation:
        """Return what a row is in, since when, what it waits for and what happens next."""
        return decode(Explanation, self._transport.get(f"{self.path}/{number}/explanation"))
