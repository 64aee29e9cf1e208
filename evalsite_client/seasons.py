"""Seasons: leaderboards as they stood when they were frozen."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Required, TypedDict

from evalsite_client.decoding import decode
from evalsite_client.names import Noun
from evalsite_client.pages import rows

Mode = Literal["reset", "carry"]


@dataclass(frozen=True)
class Season:
    """A season without its rows; leaderboard: its name; actor: who froze it."""

    id: int
    leaderboard: str
    name: str
    frozen_at: datetime
    actor: str
    reason: str
    n_agents: int
    n_counted: int
    results_hash: str
    spread: float | None


@dataclass(frozen=True)
class SeasonRow:
    """Where an agent stood; agent: its id."""

    rank: int
    agent: int
    name: str
    mu: float
    sd: float
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


class NewSeason(TypedDict, total=False):
    """A season to freeze."""

    name: Required[str]
    reason: str


class Beginning(TypedDict, total=False):
    """A season to begin; mode: reset, or carry for all results to go on to count."""

    name: Required[str]
    mode: Required[Mode]
    reason: str


class Seasons(Noun):
    """Seasons: look at; those of a leaderboard are listed with it."""

    path = "seasons"

    def get(self, season: int) -> RankedSeason:
        """Return one season with its first rows."""
        return decode(RankedSeason, self._transport.get(f"{self.path}/{season}"))

    def rows(self, season: int, *, page_size: int | None = None) -> Iterator[SeasonRow]:
        """Yield where everybody stood, the best first."""
        path, wanted = f"{self.path}/{season}/rows", {"page_size": page_size}
        return rows(self._transport, path, SeasonRow, wanted)
