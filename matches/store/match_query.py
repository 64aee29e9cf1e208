"""What is asked of the list of matches, and where among the open ones the finished ones begin."""

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta

from django.db.models import Max, OuterRef, QuerySet, Subquery

from matches.models import Entrant, Match, Tournament
from matches.models.choices import is_in_state

MAX_AGENTS = 2
RESULTS = ("won", "drawn", "lost", "forfeit")
# Every state in which a match still can be played.
OPEN = "open"
COUNTED = "yes"


@dataclass(frozen=True)
class MatchQuery:
    """What is asked for; what is empty is not asked.

    agents: one or two that played in it. result and seat: those of the first of them, without one
    of anybody. reason: why it was forfeit or is void; with an ending, why the attempt ended so.
    ending, node, server, first_day and last_day (both included, UTC): of one and the same attempt.
    counted: COUNTED for those alone that the ratings of their leaderboard count now.
    """

    game: str = ""
    state: str = ""
    agents: tuple[int, ...] = ()
    result: str = ""
    reason: str = ""
    seat: int | None = None
    ending: str = ""
    first_day: date | None = None
    last_day: date | None = None
    tournament: int | None = None
    leaderboard: int | None = None
    node: str = ""
    server: str = ""
    counted: str = ""

    @property
    def filters(self) -> set[str]:
        """The names of what is asked."""
        return {
            part.name for part in fields(self) if getattr(self, part.name) not in ("", (), None)
        }

    @property
    def is_of_attempts(self) -> bool:
        """True where the attempts of a match have to be looked at."""
        return bool(self.filters & {"ending", "node", "server", "first_day", "last_day"})


def pass_open(query: MatchQuery, key: str, before: int) -> int | None:
    """Return the key from before which to look on: the newest finished match comes next.

    key: "sequence" (on one leaderboard), else that of the match. None: there is no such match.
    One look by the index match_closed per tournament that may have some.
    """
    tournaments = _filter_tournaments(query)
    column = "sequence" if key == "sequence" else "pk"
    # Django calls the table U0 in a subquery, unquoted: to PostgreSQL that is u0.
    finished = Match.objects.filter(
        is_in_state("u0", Match.CLOSED),
        **{"tournament": OuterRef("pk"), "state": Match.State.DONE, f"{column}__lt": before},
    )
    if query.counted:
        begin = OuterRef("leaderboard__season_first_sequence")
        finished = finished.filter(sequence__gte=begin)
    newest = Subquery(finished.order_by("-sequence").values(column)[:1])
    highest: int | None = tournaments.annotate(newest=newest).aggregate(key=Max("newest"))["key"]
    return None if highest is None else highest + 1


def _filter_tournaments(query: MatchQuery) -> QuerySet[Tournament]:
    """Return the tournaments that have finished matches such as are asked for."""
    tournaments = Tournament.objects.filter(n_done__gt=0).order_by()
    if query.tournament is not None:
        tournaments = tournaments.filter(pk=query.tournament)
    if query.leaderboard is not None:
        tournaments = tournaments.filter(leaderboard=query.leaderboard)
    if query.game:
        tournaments = tournaments.filter(leaderboard__game=query.game)
    if query.counted:
        tournaments = tournaments.filter(is_rated=True)
    for agent in query.agents:
        entered = Entrant.objects.filter(agent=agent).order_by().values("tournament")
        tournaments = tournaments.filter(pk__in=entered)
    return tournaments


def find_limits(query: MatchQuery) -> tuple[datetime | None, datetime | None]:
    """Return the moments from which and before which an attempt has to have ended."""
    first, last = (
        None if day is None else datetime.combine(day, time.min, UTC)
        for day in (query.first_day, query.last_day)
    )
    return first, None if last is None else last + timedelta(days=1)
