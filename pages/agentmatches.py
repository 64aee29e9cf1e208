"""The matches of an agent, newest first, and those it lost by a fault of its own."""

from collections.abc import Sequence
from typing import NamedTuple

from matches.models import Attempt, Match, Seat
from matches.store import selectors

N_SEARCHED = 1_000
"""Matches that are searched for failures on one page: few fail, and no index holds only those."""
MAX_FAILURES = 25
_OWN_FAULTS = (Attempt.Ending.FORFEIT, Attempt.Ending.FAILED)


class Failures(NamedTuple):
    """Attempts that the agent spoilt, newest first, and before which match to search on."""

    attempts: list[Attempt]
    n_searched: int
    before: int | None


def newest(agent: int, *, before: int | None, limit: int) -> Sequence[Match]:
    """Return matches with seats and outcomes, newest first by key: three queries by index."""
    ids = selectors.filter_matches_of_agent(agent)
    if before is not None:
        ids = ids.filter(match_id__lt=before)
    page = [row["match_id"] for row in ids.order_by("-match_id")[:limit]]
    found = Match.objects.filter(pk__in=page).order_by("-pk")
    whole = found.select_related("outcome", "tournament", "leaderboard")
    return list(whole.prefetch_related("seat_rows__agent"))


def failures(agent: int, *, before: int | None) -> Failures:
    """Return the failures among the agent's next N_SEARCHED matches: two queries by index."""
    sat = Seat.objects.filter(agent=agent).order_by("-match_id").values_list("match_id", "seat")
    rows = list((sat if before is None else sat.filter(match_id__lt=before))[:N_SEARCHED])
    places = set(rows)
    ended = Attempt.objects.filter(
        match__in=[match for match, _ in rows], ending__in=_OWN_FAULTS, seat__gte=0
    )
    spoilt = ended.order_by("-match_id", "-number").select_related("match__leaderboard")
    own = [attempt for attempt in spoilt if (attempt.match_id, attempt.seat) in places]
    return _page(own, rows)


def _page(own: list[Attempt], rows: Sequence[tuple[int, int]]) -> Failures:
    if len(own) > MAX_FAILURES:
        shown = own[:MAX_FAILURES]
        last = shown[-1].match_id
        return Failures(shown, sum(match >= last for match, _ in rows), last)
    return Failures(own, len(rows), rows[-1][0] if len(rows) == N_SEARCHED else None)
