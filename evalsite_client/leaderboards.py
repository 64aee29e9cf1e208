"""Leaderboards with their ratings, the history of those, and comparisons."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Required, TypedDict, Unpack
from urllib.parse import quote

from evalsite_client.decoding import decode
from evalsite_client.names import Noun
from evalsite_client.pages import rows
from evalsite_client.ratings import Comparison, Point, Rating, Snapshot
from evalsite_client.seasons import Beginning, NewSeason, Season


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard without its ratings."""

    id: int
    name: str
    title: str
    game: str
    game_version: str
    game_parameters: Mapping[str, Any]
    opening_plies: int | None
    draw_probability: float
    is_listed: bool
    created_at: datetime
    n_counted: int
    n_settled: int
    spread: float | None
    rated_at: datetime | None
    is_rerating: bool
    season_name: str
    season_began_at: datetime | None


@dataclass(frozen=True)
class RatedLeaderboard(Leaderboard):
    """A leaderboard with the ratings of its first agents, the best first."""

    ratings: tuple[Rating, ...]


class NewLeaderboard(TypedDict, total=False):
    """A leaderboard to open; opening_plies: None as many as the game has by itself."""

    name: Required[str]
    game: Required[str]
    title: str
    game_parameters: Mapping[str, Any]
    opening_plies: int | None


class LeaderboardFilter(TypedDict, total=False):
    """Which leaderboards to list."""

    game: str
    is_listed: bool


class Leaderboards(Noun):
    """Leaderboards by name: list, look at, open; ratings, history, comparisons."""

    path = "leaderboards"

    def list(
        self, *, page_size: int | None = None, **wanted: Unpack[LeaderboardFilter]
    ) -> Iterator[Leaderboard]:
        """Yield leaderboards, the newest first."""
        return rows(self._transport, self.path, Leaderboard, {**wanted, "page_size": page_size})

    def get(self, name: str) -> RatedLeaderboard:
        """Return one leaderboard with its first ratings."""
        return decode(RatedLeaderboard, self._transport.get(self._at(name)))

    def open(self, *, key: str | None = None, **wanted: Unpack[NewLeaderboard]) -> Leaderboard:
        """Open a leaderboard."""
        return decode(Leaderboard, self._transport.post(self.path, wanted, key=key))

    def ratings(self, name: str, *, page_size: int | None = None) -> Iterator[Rating]:
        """Yield all ratings of a leaderboard in the order of rank."""
        path, wanted = self._at(name, "ratings"), {"page_size": page_size}
        return rows(self._transport, path, Rating, wanted)

    def rating(self, name: str, agent: int) -> Rating:
        """Return the rating of one agent with its rank."""
        return decode(Rating, self._transport.get(self._at(name, "ratings", agent)))

    def history(self, name: str, *, page_size: int | None = None) -> Iterator[Snapshot]:
        """Yield when the ratings were kept, at most once a minute, the newest first."""
        path, wanted = self._at(name, "history"), {"page_size": page_size}
        return rows(self._transport, path, Snapshot, wanted)

    def rating_history(
        self, name: str, agent: int, *, page_size: int | None = None
    ) -> Iterator[Point]:
        """Yield the ratings that an agent had, the newest first."""
        path, wanted = self._at(name, "ratings", agent, "history"), {"page_size": page_size}
        return rows(self._transport, path, Point, wanted)

    def compare(self, name: str, first: int, second: int) -> Comparison:
        """Return which of two agents is better, how sure that is, how their matches ended."""
        pair = {"first": first, "second": second}
        return decode(Comparison, self._transport.get(self._at(name, "comparison"), pair))

    def rerate(self, name: str, *, reason: str, key: str | None = None) -> Leaderboard:
        """Have all ratings computed again from every outcome that counts."""
        path, body = self._at(name, "rerate"), {"reason": reason}
        return decode(Leaderboard, self._transport.post(path, body, key=key))

    def freeze(
        self, leaderboard: str, *, key: str | None = None, **wanted: Unpack[NewSeason]
    ) -> Season:
        """Keep ranks and ratings as they stand now, as a season that nobody changes."""
        path = self._at(leaderboard, "freeze")
        return decode(Season, self._transport.post(path, wanted, key=key))

    def begin(
        self, leaderboard: str, *, key: str | None = None, **wanted: Unpack[Beginning]
    ) -> Season:
        """Begin a season: reset, or carry all results over. Returns the one that ended."""
        path = self._at(leaderboard, "begin")
        return decode(Season, self._transport.post(path, wanted, key=key))

    def seasons(self, name: str, *, page_size: int | None = None) -> Iterator[Season]:
        """Yield the seasons of a leaderboard, the newest first."""
        path, wanted = self._at(name, "seasons"), {"page_size": page_size}
        return rows(self._transport, path, Season, wanted)

    def _at(self, name: str, *further: object) -> str:
        return "/".join([self.path, quote(name, safe=""), *map(str, further)])
