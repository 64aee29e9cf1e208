"""By which index matches are gone through, of all filters that somebody asks for."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Max, OuterRef, QuerySet, Subquery, Sum

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
from matches.store import selectors
from matches.store.match_query import MAX_AGENTS, OPEN, MatchQuery, find_limits

# Two busy agents may have met seldom: so many matches of one of them are read by index alone.
N_SCANNED = 50_000
# Of a tournament with more matches its failed attempts are found by their own index.
MANY_MATCHES = 20_000
# Attempts are numbered in the order in which they were stored: nearly that in which they ended.
DISORDER = timedelta(minutes=5)


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


def choose_source(query: MatchQuery) -> Source:
    """Return the rows to scan: by the filter that leaves the fewest and has an index."""
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
    with_known = Tournament.objects.filter(n_known__gt=0)
    return tournament is not None and with_known.filter(pk=tournament).exists()


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
    meetings = seats.filter(match__seat_rows__agent=other)
    return Source(meetings, "match_id", "match_id", frozenset({"agents"}), scanned=seats)


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
    first, last = find_limits(query)
    if query.node:
        # Nothing is newer than what a node said last: years of silence are passed over.
        seen_at = Worker.objects.filter(node=query.node).aggregate(at=Max("last_seen_at"))["at"]
        last = last if seen_at is None else min(last or seen_at, seen_at)
    return Source(_filter_ended(Attempt.objects.all(), first, last), "pk", "match_id")


def _filter_ended(
    attempts: QuerySet[Attempt], first: datetime | None, last: datetime | None
) -> QuerySet[Attempt]:
    """Return those by whose number they may have ended within these moments."""
    if first is not None:
        attempts = attempts.filter(pk__gte=find_attempt(first - DISORDER))
    if last is not None:
        attempts = attempts.filter(pk__lt=find_attempt(last + DISORDER))
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


def find_attempt(moment: datetime) -> int:
    """Return the id of the first attempt that ended then or later, by halves: one query."""
    # No index holds the time: on the way of every recorded match it would cost more than this.
    stamp = connection.ops.adapt_datetimefield_value(moment)
    with connection.cursor() as cursor:
        cursor.execute(_BISECT, [stamp, True, stamp, True])
        return int(cursor.fetchone()[0])
