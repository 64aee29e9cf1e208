"""Leaderboards of the API."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from evalsite_client.api.shared import AgentName, Season, SeasonMode
from evalsite_client.calls import Calls
from evalsite_client.figures import ComparisonFigures, HeadToHeadFigures, RatingFigures
from evalsite_client.records import Rows


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard without its ratings.

    game_version: Of the rules it was opened under: as declared, of a plug-in the SHA-256 of its
        file.
    opening_plies: Seeded random plies; empty: the game's own number.
    draw_probability: Of a match between equals, as it is thought of before results; it is
        fitted.
    is_rated: False: only unrated play is kept here, and no page shows its ratings.
    is_listed: Stands on the home page and in the list of leaderboards.
    is_pinned: Stands before the others there.
    n_settled: Outcomes behind the settled ratings shown.
    is_rerating: Its ratings are being computed again from all outcomes.
    spread: Fitted sd of skill.
    fitted_draw_probability: The draw probability that explains the results.
    seat_mu: Advantage of the first of two seats, as a rating.
    seat_sd: Its doubt.
    ratings_reset_at: When a season last gave everybody the prior again.
    """

    id: int
    name: str
    title: str
    game: str
    game_version: str
    game_parameters: Mapping[str, Any]
    opening_plies: int | None
    draw_probability: float
    is_rated: bool
    is_listed: bool
    is_pinned: bool
    created_at: datetime
    n_counted: int
    n_settled: int
    rated_at: datetime | None
    is_rerating: bool
    spread: float | None
    fitted_draw_probability: float | None
    seat_mu: float | None
    seat_sd: float | None
    season_name: str
    season_began_at: datetime | None
    ratings_reset_at: datetime | None


@dataclass(frozen=True)
class Rating(RatingFigures):
    """What is known of an agent; low and high end the 95 % interval of mu.

    mean_score, score_low and score_high are of games of one seat alone, which have no live
    rating.

    mu: Settled rating: posterior mode.
    sd: Its doubt, as it bears on ranks: not how far apart all are.
    low: Lower end of its 95 % interval.
    high: Upper end of its 95 % interval.
    live_mu: TrueSkill, update by update.
    mean_score: Over the game seeds it has played.
    score_low: Lower end of its 95 % interval.
    score_high: Upper end of its 95 % interval.
    """

    rank: int
    agent: AgentName
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
    mean_score: float | None
    score_low: float | None
    score_high: float | None


@dataclass(frozen=True)
class RatedLeaderboard(Leaderboard):
    """A leaderboard with the ratings of its first agents, the best first."""

    ratings: tuple[Rating, ...]


@dataclass(frozen=True)
class Expected:
    """How the next match probably ends."""

    win: float
    draw: float
    loss: float


@dataclass(frozen=True)
class HeadToHead(HeadToHeadFigures):
    """How the matches of the two ended."""

    n_wins: int
    n_draws: int
    n_losses: int


@dataclass(frozen=True)
class Comparison(ComparisonFigures):
    """The first agent against the second, by their settled ratings.

    p_above: the probability that the skill of the first is above that of the second, by the
    joint posterior of the two.
    """

    first: AgentName
    second: AgentName
    p_above: float
    expected: Expected
    head_to_head: HeadToHead


@dataclass(frozen=True)
class Snapshot:
    """When the ratings of a leaderboard were kept."""

    taken_at: datetime
    n_outcomes: int
    results_hash: str


@dataclass(frozen=True)
class Point:
    """The rating of an agent at a moment.

    n_outcomes: Outcomes of the leaderboard behind it.
    low: Lower end of its 95 % interval.
    high: Upper end of its 95 % interval.
    """

    taken_at: datetime
    n_outcomes: int
    mu: float
    sd: float
    low: float
    high: float
    live_mu: float
    live_sigma: float


class Leaderboards(Calls):
    """Leaderboards; one of them comes with its first ratings."""

    def list(
        self,
        *,
        game: str | None = None,
        is_listed: bool | None = None,
        is_pinned: bool | None = None,
        page_size: int | None = None,
    ) -> Rows[Leaderboard]:
        """Yield leaderboards, fetched page by page as they are asked for."""
        return self._rows(
            Leaderboard,
            "leaderboards",
            {"game": game, "is_listed": is_listed, "is_pinned": is_pinned, "page_size": page_size},
        )

    def open(
        self,
        *,
        name: str,
        game: str,
        title: str = "",
        game_parameters: Mapping[str, Any] | None = None,
        opening_plies: int | None = None,
        key: str | None = None,
    ) -> Leaderboard:
        """Open a leaderboard."""
        return self._post(
            Leaderboard,
            "leaderboards",
            {
                "name": name,
                "game": game,
                "title": title,
                "game_parameters": game_parameters,
                "opening_plies": opening_plies,
            },
            key=key,
        )

    def get(self, leaderboard: str) -> RatedLeaderboard:
        """Return one leaderboard."""
        return self._get(RatedLeaderboard, f"leaderboards/{quote(leaderboard, safe='')}")

    def begin(
        self,
        leaderboard: str,
        *,
        name: str,
        mode: SeasonMode,
        reason: str = "",
        key: str | None = None,
    ) -> Season:
        """Begin a season: all start anew, or all goes on to count. Returns the one that ended."""
        return self._post(
            Season,
            f"leaderboards/{quote(leaderboard, safe='')}/begin",
            {"reason": reason, "name": name, "mode": mode},
            key=key,
        )

    def compare(self, leaderboard: str, first: int, second: int) -> Comparison:
        """Compare two agents: which is better, how sure that is, how their matches ended."""
        return self._get(
            Comparison,
            f"leaderboards/{quote(leaderboard, safe='')}/comparison",
            {"first": first, "second": second},
        )

    def freeze(
        self, leaderboard: str, *, name: str, reason: str = "", key: str | None = None
    ) -> Season:
        """Keep ranks and ratings as they stand now, as a season that nobody changes."""
        return self._post(
            Season,
            f"leaderboards/{quote(leaderboard, safe='')}/freeze",
            {"reason": reason, "name": name},
            key=key,
        )

    def history(self, leaderboard: str, *, page_size: int | None = None) -> Rows[Snapshot]:
        """List when the ratings were kept, at most once a minute, the newest first."""
        return self._rows(
            Snapshot,
            f"leaderboards/{quote(leaderboard, safe='')}/history",
            {"page_size": page_size},
        )

    def place(
        self,
        leaderboard: str,
        *,
        reason: str = "",
        is_listed: bool | None = None,
        is_pinned: bool | None = None,
        key: str | None = None,
    ) -> Leaderboard:
        """Pin or unpin a leaderboard, list or unlist it.

        is_listed: On the home page and in the list of leaderboards.
        is_pinned: Before the others there.
        """
        return self._post(
            Leaderboard,
            f"leaderboards/{quote(leaderboard, safe='')}/place",
            {"reason": reason, "is_listed": is_listed, "is_pinned": is_pinned},
            key=key,
        )

    def ratings(self, leaderboard: str, *, page_size: int | None = None) -> Rows[Rating]:
        """List the ratings of a leaderboard in the order of rank."""
        return self._rows(
            Rating, f"leaderboards/{quote(leaderboard, safe='')}/ratings", {"page_size": page_size}
        )

    def rating(self, leaderboard: str, agent: int) -> Rating:
        """Return the rating of one agent with its rank."""
        return self._get(Rating, f"leaderboards/{quote(leaderboard, safe='')}/ratings/{agent}")

    def rating_history(
        self, leaderboard: str, agent: int, *, page_size: int | None = None
    ) -> Rows[Point]:
        """List the ratings that an agent had, the newest first; a page may lack some."""
        return self._rows(
            Point,
            f"leaderboards/{quote(leaderboard, safe='')}/ratings/{agent}/history",
            {"page_size": page_size},
        )

    def rerate(self, leaderboard: str, *, reason: str, key: str | None = None) -> Leaderboard:
        """Have all ratings computed again from every outcome that counts."""
        return self._post(
            Leaderboard,
            f"leaderboards/{quote(leaderboard, safe='')}/rerate",
            {"reason": reason},
            key=key,
        )

    def seasons(self, leaderboard: str, *, page_size: int | None = None) -> Rows[Season]:
        """List the seasons of a leaderboard, the newest first."""
        return self._rows(
            Season, f"leaderboards/{quote(leaderboard, safe='')}/seasons", {"page_size": page_size}
        )
