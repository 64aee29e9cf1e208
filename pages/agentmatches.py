"""The matches of an agent, newest first, and those it lost by a fault of its own."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matches.models import Agent, Attempt, Match, Seat
from matches.store.bulk import among
from matches.store.match_query import MatchQuery, pass_open
from matches.store.match_search import load_matches
from pages.paging import HIGHEST, cut_page
from pages.seating import list_seats

MATCHES_A_PAGE = 25
N_RECENT = 10
# Matches that are looked at for a page: those that wait or were cancelled stand between the others.
N_LOOKED = 500
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
    """Return a page of those that are done, newest first by key: a handful of queries by index.

    What is still to be played is newer than most results: the first page begins behind it.
    """
    # Between results may stand many that were cancelled: a page of these says nothing of all.
    nothing_done = "None of these is done."
    if before is None:
        nothing_done = "None of its matches is done yet."
        before = pass_open(MatchQuery(agents=(agent.pk,)), "match_id", HIGHEST) or 0
    seats = Seat.objects.filter(agent=agent, match_id__lt=before).order_by("-match_id")
    looked_at = list(seats.values_list("match_id", flat=True)[:N_LOOKED])
    done_matches = Match.objects.filter(pk__in=among(looked_at), state=Match.State.DONE)
    hits = list(done_matches.order_by("-pk").values_list("pk", flat=True)[: MATCHES_A_PAGE + 1])
    page, last = cut_page(hits, MATCHES_A_PAGE)
    is_more = len(looked_at) == N_LOOKED
    return {
        "matches": [
            {"match": match, "seats": list_seats(match, game=agent.game)}
            for match in load_matches(page)
        ],
        "next_match": last or (looked_at[-1] if is_more else None),
        "nothing_done": nothing_done,
    }


def list_recent(agent: Agent, matches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first of these matches with the seat of the agent, and whom it met there."""
    recent = []
    for row in matches[:N_RECENT]:
        own = next(seat for seat in row["seats"] if seat["agent"].pk == agent.pk)
        others = [seat["agent"].name for seat in row["seats"] if seat is not own]
        recent.append({"match": row["match"], "seat": own, "others": ", ".join(others)})
    return recent


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
