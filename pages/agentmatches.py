"""The matches of an agent, newest first, and those it lost by a fault of its own."""

from typing import Any, NamedTuple

from matches.models import Agent, Attempt, Seat
from matches.store.match_query import MatchQuery
from matches.store.match_search import find_matches
from pages.seating import list_seats

MATCHES_A_PAGE = 25
# Matches that are searched for failures on one page: few fail, and no index holds only those.
N_SEARCHED = 1_000
MAX_FAILURES = 25
_OWN_FAULTS = (Attempt.Ending.FORFEIT, Attempt.Ending.FAILED)


class Failures(NamedTuple):
    """Attempts that the agent spoilt, newest first, and before which match to search on."""

    attempts: list[Attempt]
    n_searched: int
    before: int | None


def list_matches(agent: Agent, *, before: int | None) -> dict[str, Any]:
    """Return a page of matches with their seats, newest first by key: four queries by index."""
    page = find_matches(MatchQuery(agents=(agent.pk,)), before=before, limit=MATCHES_A_PAGE)
    return {
        "matches": [
            {"match": match, "seats": list_seats(match, game=agent.game)} for match in page.matches
        ],
        "next_match": page.before,
    }


def find_failures(agent: int, *, before: int | None) -> Failures:
    """Return the failures among the agent's next N_SEARCHED matches: two queries by index."""
    seats = Seat.objects.filter(agent=agent).order_by("-match_id").values_list("match_id", "seat")
    searched = list((seats if before is None else seats.filter(match_id__lt=before))[:N_SEARCHED])
    places = set(searched)
    faults = Attempt.objects.filter(
        match__in=[match for match, _ in searched], ending__in=_OWN_FAULTS, seat__gte=0
    )
    faults = faults.order_by("-match_id", "-number").select_related("match__leaderboard")
    # Another seat of the same match may be the guilty one: the pairs are compared here.
    own = [attempt for attempt in faults if (attempt.match_id, attempt.seat) in places]
    if len(own) > MAX_FAILURES:
        # The next page begins below the last failure shown, not below the last match searched.
        last = own[MAX_FAILURES - 1].match_id
        n_searched = sum(match >= last for match, _ in searched)
        return Failures(own[:MAX_FAILURES], n_searched, last)
    return Failures(own, len(searched), searched[-1][0] if len(searched) == N_SEARCHED else None)
