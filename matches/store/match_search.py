"""Which matches somebody asks for, the newest first: one filter for all pages, cut by key.

The rows come from the index that fits the question best (a source), and what that index cannot say
is checked on at most N_LOOKED of them. So a page costs the same however many matches there are: one
whose filter fits few rows says how many it looked at, and the next page goes on from there. Where
finished matches are asked for and none was found, open ones are passed over by an index.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from matches.models import Attempt, Match
from matches.store.match_fitting import choose_fitting
from matches.store.match_query import MatchQuery, pass_open
from matches.store.match_sources import Source, choose_source, find_end

N_LOOKED = 2_000
# A page of finished matches that would be empty is looked for so often in all.
MAX_LOOKS = 8
HIGHEST = 2**62
"""Above every key."""


class MatchPage(NamedTuple):
    """A page of matches with seats and outcomes; before: where the next one begins, if any.

    n_looked: how many matches were looked at, None where an index had no others.
    """

    matches: Sequence[Match]
    before: int | None
    n_looked: int | None


def find_matches(query: MatchQuery, *, before: int | None = None, limit: int) -> MatchPage:
    """Return a page of the matches that are asked for, the newest first, from before this key."""
    if query.counted or query.result:
        if query.state not in ("", Match.State.DONE):
            return MatchPage([], None, None)
        query = replace(query, state=Match.State.DONE)
    source = choose_source(query)
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
    fitting = (
        {pk for _, pk in places} if is_exact else choose_fitting(query, [pk for _, pk in places])
    )
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
