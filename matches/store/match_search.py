"""Which matches somebody asks for, the newest first: one filter for all pages, cut by key.

The rows come from the index that fits the question best (a source), and what that index cannot say
is checked on at most N_LOOKED of them. So a page costs the same however many matches there are: one
whose filter fits few rows says how many it looked at, and the next page goes on from there. Where
finished matches are asked for and none was found, open ones are passed over by an index.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Max, OuterRef, QuerySet, Subquery, Sum

from arena.errors import ArenaError
from arena.games import registry as games
from matches.models import (
    Attempt,
    Leaderboard,
    Match,
    Order,
    Outcome,
    Rating,
    Seat,
    Tournament,
    Worker,
)
from matches.models.match import parse_numbers
from matches.store import selectors
from matches.store.bulk import among
from matches.store.match_query import MAX_AGENTS, OPEN, MatchQuery, pass_open

N_LOOKED = 2_000
# A page of finished matches that would be empty is looked for so often in all.
MAX_LOOKS = 8
# Two busy agents may have met seldom: so many matches of one of them are read by index alone.
N_SCANNED = 50_000
# Of a tournament with more matches its failed attempts are found by their own index.
MANY_MATCHES = 20_000
HIGHEST = 2**62
"""Above every key."""
# Attempts are numbered in the order in which they were stored: nearly that in which they ended.
DISORDER = timedelta(minutes=5)


class MatchPage(NamedTuple):
    """A page of matches with seats and outcomes; before: where the next one begins, if any.

    n_looked: how many matches were looked at, None where an index had no others.
    """

    matches: Sequence[Match]
    before: int | None
    n_looked: int | None


class Source(NamedTuple):
    """Rows that an index gives in order; key: the column that orders and cuts them.

    answers: the filters that every row fits. scanned: rows by the same key whose number bounds
    the work, where the rows are chosen among them.
    """

    rows: QuerySet[Any, Any]
    key: str
    match: str
    answers: frozenset[str] = frozenset()
    scanned: QuerySet[Any, Any] | None = None


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


def find_matches(query: MatchQuery, *, before: int | None = None, limit: int) -> MatchPage:
    """Return a page of the matches that are asked for, the newest first, from before this key."""
    if query.counted or query.result:
        if query.state not in ("", Match.State.DONE):
            return MatchPage([], None, None)
        query = replace(query, state=Match.State.DONE)
    source = _choose_source(query)
    if before is None and query.state == Match.State.DONE and _has_open_matches(source):
        # The newest of a leaderboard may be open by the thousand: none of them is looked at.
        before = pass_open(query, source.key, HIGHEST)
        if before is None:
            return MatchPage([], None, None)
    page = _look(query, source, before, limit)
    for _ in range(1, MAX_LOOKS):
        if page.matches or page.before is None or query.state != Match.State.DONE:
            break
        # Whatever has an attempt is not waiting to be played: nothing is passed over.
        has_attempts = source.rows.model is Attempt
        start = page.before if has_attempts else pass_open(query, source.key, page.before)
        if start is None:
            return page._replace(before=None)
        n_looked = page.n_looked or 0
        page = _look(query, source, start, limit)
        page = page._replace(n_looked=n_looked + (page.n_looked or 0))
    return page


def _has_open_matches(source: Source) -> bool:
    """Say whether matches that are not over may lie among the rows, in planned order."""
    return source.key == "sequence" and "state" not in source.answers


def _look(query: MatchQuery, source: Source, before: int | None, limit: int) -> MatchPage:
    rows = source.rows if before is None else source.rows.filter(**{f"{source.key}__lt": before})
    end = find_end(source, before)
    if end is not None:
        rows = rows.filter(**{f"{source.key}__gte": end})
    is_exact = query.filters <= source.answers
    n_read = limit + 1 if is_exact else N_LOOKED
    columns = (source.key, source.match)
    places = list(rows.order_by(f"-{source.key}").values_list(*columns)[:n_read])
    fitting = {pk for _, pk in places} if is_exact else _choose(query, [pk for _, pk in places])
    # An agent in both seats, or several attempts: the match is listed once, at its first place.
    first_places = {pk: key for key, pk in reversed(places) if pk in fitting}
    hits = sorted(((key, pk) for pk, key in first_places.items()), reverse=True)[: limit + 1]
    if len(hits) > limit:
        following = hits[limit - 1][0]
    elif len(places) == n_read:
        following = places[-1][0]
    else:
        following = end
    n_looked = None if is_exact and end is None else len(places)
    return MatchPage(load_matches([pk for _, pk in hits[:limit]]), following, n_looked)


def load_matches(ids: Sequence[int]) -> list[Match]:
    """Return matches in this order with what a list shows of them: two queries."""
    whole = Match.objects.select_related("outcome", "tournament", "leaderboard")
    rows = whole.prefetch_related("seat_rows__agent").in_bulk(ids)
    return [rows[pk] for pk in ids]


def _choose_source(query: MatchQuery) -> Source:
    """Return the rows to go through: those of the filter that leaves the fewest, by an index."""
    if len(query.agents) == MAX_AGENTS:
        return from_pair(query.agents)
    if query.agents:
        seats = selectors.filter_matches_of_agent(query.agents[0], tournament=query.tournament)
        return Source(seats, "match_id", "match_id", frozenset({"agents", "tournament"}))
    if query.server:
        served = Attempt.objects.filter(Attempt.is_served(), server=query.server)
        return Source(served, "pk", "match_id", frozenset({"server"}))
    if query.ending or (query.result == "forfeit" and not _has_copies(query.tournament)):
        return _from_failures(query.ending or Attempt.Ending.FORFEIT, query.tournament)
    if query.tournament is not None:
        rows = selectors.filter_matches(query.tournament, state=query.state.removeprefix(OPEN))
        if query.state == OPEN:
            board = Tournament.objects.filter(pk=query.tournament).values("leaderboard")
            # By its leaderboard: by tournament SQLite would read the closed ones, too.
            rows = rows.filter(Match.is_open(), leaderboard=Subquery(board))
        return Source(rows, "sequence", "pk", frozenset({"tournament", "state"}))
    return _from_state(query) or _from_all(query)


def _has_copies(tournament: int | None) -> bool:
    """Say whether matches of a tournament were known: those have no attempt of their own."""
    known = Tournament.objects.filter(n_known__gt=0)
    return tournament is not None and known.filter(pk=tournament).exists()


def _from_state(query: MatchQuery) -> Source | None:
    """Return the matches in a state that few are in, if that is asked; few by an index each."""
    answers = frozenset({"state"})
    if query.state in Match.UNPLAYED:
        rows = Match.objects.filter(Match.is_unplayed(), state=query.state)
        return Source(rows, "pk", "pk", answers)
    if query.state in Match.IN_FLIGHT:
        # Chosen here: open orders are few, and their matches are found by the index of each.
        orders = list(Order.objects.filter(Order.is_open()).values_list("pk", flat=True))
        rows = Match.objects.filter(Match.is_in_flight(), order__in=orders, state=query.state)
        return Source(rows, "pk", "pk", answers)
    return None


def _from_all(query: MatchQuery) -> Source:
    if query.leaderboard is not None:
        rows = Match.objects.filter(leaderboard=query.leaderboard)
        if query.state in (OPEN, Match.State.PENDING):
            states = Match.OPEN if query.state == OPEN else [query.state]
            rows = rows.filter(Match.is_open(), state__in=states)
            return Source(rows, "sequence", "pk", frozenset({"leaderboard", "state"}))
        return Source(rows, "sequence", "pk", frozenset({"leaderboard"}))
    if query.filters & {"first_day", "last_day", "node"}:
        return _from_attempts(query)
    # What is over has an outcome, which has the key of its match: open ones do not lie between.
    is_over = query.state == Match.State.DONE
    key = "match_id" if is_over else "pk"
    matches: QuerySet[Any, Any] = Outcome.objects.all() if is_over else Match.objects.all()
    if not query.game:
        return Source(matches, key, key)
    # Other games may have been played since: it begins with the newest match of this one.
    of_board = Match.objects.filter(leaderboard=OuterRef("pk")).order_by("-sequence")
    boards = Leaderboard.objects.filter(game=query.game).order_by()
    newest = boards.annotate(newest=Subquery(of_board.values("pk")[:1])).aggregate(pk=Max("newest"))
    return Source(matches.filter(pk__lte=newest["pk"] or 0), key, key)


def from_pair(agents: Sequence[int]) -> Source:
    """Return the seats of the agent with fewer matches where the other one sits, too."""
    rated = Rating.objects.filter(agent__in=agents).values_list("agent")
    n_matches = dict(rated.annotate(n=Sum("n_matches")).order_by())
    rare, other = sorted(agents, key=lambda agent: n_matches.get(agent, 0))
    seats = Seat.objects.filter(agent=rare)
    both = seats.filter(match__seat_rows__agent=other)
    return Source(both, "match_id", "match_id", frozenset({"agents"}), scanned=seats)


def _from_failures(ending: str, tournament: int | None) -> Source:
    """Return the attempts that ended so, in the time of a tournament if one is asked for."""
    attempts = Attempt.objects.filter(ending=ending)
    if ending != Attempt.Ending.DONE:
        attempts = attempts.filter(Attempt.is_not_done())
    if tournament is not None:
        times = Tournament.objects.filter(pk=tournament).values_list("started_at", "finished_at")
        attempts = _filter_ended(attempts, *times.first() or (None, None))
    return Source(attempts, "pk", "match_id")


def filter_failures(tournament: Tournament) -> QuerySet[Attempt]:
    """Return the attempts at matches of a tournament that are not done: few, by an index."""
    attempts = Attempt.objects.filter(match__tournament=tournament).order_by()
    if tournament.n_matches <= MANY_MATCHES:
        return attempts.filter(ending__in=Attempt.NOT_DONE)
    # Not until it ended: of what was under way then, some is reported later.
    return _filter_ended(attempts.filter(Attempt.is_not_done()), tournament.started_at, None)


def _from_attempts(query: MatchQuery) -> Source:
    """Return the attempts that ended within the days that are asked for."""
    first, last = _find_limits(query)
    if query.node:
        # Nothing is newer than what a node said last: years of silence are passed over.
        seen = Worker.objects.filter(node=query.node).aggregate(at=Max("last_seen_at"))["at"]
        last = last if seen is None else min(last or seen, seen)
    return Source(_filter_ended(Attempt.objects.all(), first, last), "pk", "match_id")


def _filter_ended(
    attempts: QuerySet[Attempt], first: datetime | None, last: datetime | None
) -> QuerySet[Attempt]:
    """Return those by whose number they may have ended within these moments."""
    if first is not None:
        attempts = attempts.filter(pk__gte=_find_attempt(first - DISORDER))
    if last is not None:
        attempts = attempts.filter(pk__lt=_find_attempt(last + DISORDER))
    return attempts


def find_end(source: Source, before: int | None) -> int | None:
    """Return the key down to which rows are chosen among the scanned ones; None: down to all."""
    if source.scanned is None:
        return None
    scanned = source.scanned if before is None else source.scanned.filter(match_id__lt=before)
    keys = scanned.order_by("-match_id").values_list("match_id", flat=True)
    return keys[N_SCANNED : N_SCANNED + 1].first()


# The same look at the middle twice: SQLite takes the recursive table outside of subqueries only.
_MIDDLE = (
    "COALESCE((SELECT ended_at < %s FROM matches_attempt "
    "WHERE id <= (low + high) / 2 ORDER BY id DESC LIMIT 1), %s)"
)
_BISECT = f"""
WITH RECURSIVE part (low, high) AS (
    SELECT CAST(0 AS bigint), CAST(COALESCE(MAX(id), 0) + 1 AS bigint) FROM matches_attempt
    UNION ALL
    SELECT CASE WHEN {_MIDDLE} THEN (low + high) / 2 + 1 ELSE low END,
           CASE WHEN {_MIDDLE} THEN high ELSE (low + high) / 2 END
    FROM part WHERE low < high
)
SELECT low FROM part WHERE low >= high
"""


def _find_attempt(moment: datetime) -> int:
    """Return the id of the first attempt that ended then or later, by halves: one query."""
    # No index holds the time: on the way of every recorded match it would cost more than this.
    stamp = connection.ops.adapt_datetimefield_value(moment)
    with connection.cursor() as cursor:
        cursor.execute(_BISECT, [stamp, True, stamp, True])
        return int(cursor.fetchone()[0])


def _find_limits(query: MatchQuery) -> tuple[datetime | None, datetime | None]:
    """Return the moments from which and before which an attempt has to have ended."""
    first, last = (
        None if day is None else datetime.combine(day, time.min, UTC)
        for day in (query.first_day, query.last_day)
    )
    return first, None if last is None else last + timedelta(days=1)


def _choose(query: MatchQuery, ids: Sequence[int]) -> set[int]:
    """Return those of the matches that fit: one query, and one for their attempts."""
    candidates = Match.objects.filter(pk__in=among(ids)).values_list(*_CANDIDATE)
    # Compared here: given more conditions the database may choose an index with a million rows.
    fitting = {one.pk for one in map(_Candidate._make, candidates) if _fits(query, one)}
    if not (query.is_of_attempts and fitting):
        return fitting
    columns = ("match_id", "ending", "reason", "node", "server", "ended_at")
    tries = Attempt.objects.filter(match__in=among(list(fitting))).values_list(*columns)
    return {one.match for one in map(_Try._make, tries) if _fits_try(query, one)}


def _fits(query: MatchQuery, one: _Candidate) -> bool:
    compared = (
        (query.game, one.game),
        (query.state, OPEN if query.state == OPEN and one.state in Match.OPEN else one.state),
        (query.tournament, one.tournament),
        (query.leaderboard, one.leaderboard),
    )
    if any(asked not in ("", None, value) for asked, value in compared):
        return False
    if query.counted and not one.is_counted:
        return False
    if query.reason and not query.ending and query.reason not in (one.reason, one.void_reason):
        return False
    lineup = parse_numbers(one.lineup)
    if not set(query.agents) <= set(lineup):
        return False
    seats = [
        seat
        for seat, agent in enumerate(lineup)
        if query.seat in (None, seat) and agent in (query.agents[:1] or [agent])
    ]
    return bool(seats) and (not query.result or _has_result(query.result, one, seats))


def _has_result(result: str, one: _Candidate, seats: Sequence[int]) -> bool:
    """Say whether one of these seats had the result, as ratings count it."""
    if one.state != Match.State.DONE or one.ranks is None:
        return False
    if result == "forfeit":
        return one.guilty_seat in seats
    ranks = parse_numbers(one.ranks)
    is_shared = ranks.count(0) > _team_size(one.game)
    if result == "drawn":
        return is_shared and any(ranks[seat] == 0 for seat in seats)
    if result == "won":
        return not is_shared and any(ranks[seat] == 0 for seat in seats)
    return any(ranks[seat] > 0 for seat in seats)


def _team_size(game: str) -> int:
    try:
        return games.get(game).spec.team_size
    except ArenaError:
        return 1  # its file cannot be used: what was played is still listed


def _fits_try(query: MatchQuery, one: _Try) -> bool:
    first, last = _find_limits(query)
    return (
        query.ending in ("", one.ending)
        and (not query.ending or query.reason in ("", one.reason))
        and query.node in ("", one.node)
        and query.server in ("", one.server)
        and (first is None or one.ended_at >= first)
        and (last is None or one.ended_at < last)
    )
