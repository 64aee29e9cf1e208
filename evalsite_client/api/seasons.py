"""Seasons of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from dataclasses import dataclass

from evalsite_client.api.shared import Season
from evalsite_client.calls import Calls
from evalsite_client.records import Rows


@dataclass(frozen=True)
class SeasonRow:
    """Where an agent stood.

    name: Of the agent, then.
    mu: Settled rating.
    low: Lower end of its 95 % interval.
    high: Upper end of its 95 % interval.
    """

    rank: int
    agent: int
    name: str
    mu: float
    sd: float
    low: float
    high: float
    live_mu: float
    live_sigma: float
    n_matches: int
    n_wins: int
    n_draws: int
    n_losses: int
    n_forfeits: int


@dataclass(frozen=True)
class RankedSeason(Season):
    """A season with its first rows."""

    rows: tuple[SeasonRow, ...]


class Seasons(Calls):
    """Seasons; nobody changes one. Those of a leaderboard are listed there."""

    def get(self, season: int) -> RankedSeason:
        """Return one season."""
        return self._get(RankedSeason, f"seasons/{season}")

    def rows(self, season: int, *, page_size: int | None = None) -> Rows[SeasonRow]:
        """List where everybody stood, the best first."""
        return self._rows(SeasonRow, f"seasons/{season}/rows", {"page_size": page_size})
