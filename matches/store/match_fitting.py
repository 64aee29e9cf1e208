"""Which matches of many fit a filter, where no index says it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from arena.errors import ArenaError
from arena.games import registry as games
from matches.models import Attempt, Match
from matches.models.match import parse_numbers
from matches.store.bulk import among
from matches.store.match_query import OPEN, MatchQuery, find_limits


class _Candidate(NamedTuple):
    """What a match is judged by; ranks and guilty seat are None without an outcome."""

    pk: int
    state: str
    void_reason: str
    tournament: int
    leaderboard: int
    lineup: str
    game: str
    ranks: str | None
    guilty_seat: int | None
    reason: str | None
    sequence: int
    is_rated: bool
    first_board: int | None
    """The leaderboard of the match that it was the same game as."""
    season_begin: int

    @property
    def is_counted(self) -> bool:
        """Whether the ratings count it, as matches.ratings.rerating reads it: once it is rated."""
        is_in_season = self.sequence >= self.season_begin
        is_copy = self.first_board == self.leaderboard
        return self.state == Match.State.DONE and self.is_rated and is_in_season and not is_copy


class _Try(NamedTuple):
    match: int
    ending: str
    reason: str
    node: str
    server: str
    ended_at: datetime


_CANDIDATE = (
    *("pk", "state", "void_reason", "tournament_id", "leaderboard_id", "lineup"),
    *("leaderboard__game", "outcome__ranks", "outcome__guilty_seat", "outcome__reason"),
    *("sequence", "tournament__is_rated", "same_as__leaderboard_id"),
    "leaderboard__season_first_sequence",
)


def choose_fitting(query: MatchQuery, ids: Sequence[int]) -> set[int]:
    """Return the matches that fit a query: one look-up, and one for their attempts."""
    candidates = Match.objects.filter(pk__in=among(ids)).values_list(*_CANDIDATE)
    # Compared here: given more conditions the database may choose an index with a million rows.
    fitting = {
        candidate.pk
        for candidate in map(_Candidate._make, candidates)
        if _fits_query(query, candidate)
    }
    if not (query.is_of_attempts and fitting):
        return fitting
    columns = ("match_id", "ending", "reason", "node", "server", "ended_at")
    tries = Attempt.objects.filter(match__in=among(list(fitting))).values_list(*columns)
    return {attempt.match for attempt in map(_Try._make, tries) if _fits_attempt(query, attempt)}


def _fits_query(query: MatchQuery, candidate: _Candidate) -> bool:
    compared = (
        (query.game, candidate.game),
        (
            query.state,
            OPEN if query.state == OPEN and candidate.state in Match.OPEN else candidate.state,
        ),
        (query.tournament, candidate.tournament),
        (query.leaderboard, candidate.leaderboard),
    )
    if any(condition not in ("", None, value) for condition, value in compared):
        return False
    if query.counted and not candidate.is_counted:
        return False
    if (
        query.reason
        and not query.ending
        and query.reason not in (candidate.reason, candidate.void_reason)
    ):
        return False
    lineup = parse_numbers(candidate.lineup)
    if not set(query.agents) <= set(lineup):
        return False
    seats = [
        seat
        for seat, agent in enumerate(lineup)
        if query.seat in (None, seat) and agent in (query.agents[:1] or [agent])
    ]
    return bool(seats) and (not query.result or _has_result(query.result, candidate, seats))


def _has_result(result: str, candidate: _Candidate, seats: Sequence[int]) -> bool:
    """Say whether one of these seats had the result, as ratings count it."""
    if candidate.state != Match.State.DONE or candidate.ranks is None:
        return False
    if result == "forfeit":
        return candidate.guilty_seat in seats
    ranks = parse_numbers(candidate.ranks)
    is_shared = ranks.count(0) > _read_team_size(candidate.game)
    if result == "drawn":
        return is_shared and any(ranks[seat] == 0 for seat in seats)
    if result == "won":
        return not is_shared and any(ranks[seat] == 0 for seat in seats)
    return any(ranks[seat] > 0 for seat in seats)


def _read_team_size(game: str) -> int:
    try:
        return games.get(game).spec.team_size
    except ArenaError:
        return 1  # its file cannot be used: what was played is still listed


def _fits_attempt(query: MatchQuery, attempt: _Try) -> bool:
    first, last = find_limits(query)
    return (
        query.ending in ("", attempt.ending)
        and (not query.ending or query.reason in ("", attempt.reason))
        and query.node in ("", attempt.node)
        and query.server in ("", attempt.server)
        and (first is None or attempt.ended_at >= first)
        and (last is None or attempt.ended_at < last)
    )
