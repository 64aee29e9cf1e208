"""The matches of two agents: those that were played, the newest first, and how many are planned."""

from typing import Any

from django.db.models import Max, Min, QuerySet

from matches.models import Match, Outcome, Tournament
from matches.store.match_search import MatchPage, load_matches
from matches.store.match_sources import Source, find_end, from_pair


def find_played(pair: tuple[int, int], *, before: int | None = None, limit: int) -> MatchPage:
    """Return a page of the matches of both that have an outcome, from before this key."""
    source = from_pair(pair)
    before = _pass_planned(before)
    end = find_end(source, before)
    ids = _list_played(source, before=before, end=end, limit=limit + 1)
    following = ids[limit - 1] if len(ids) > limit else end
    return MatchPage(load_matches(ids[:limit]), following, None)


def find_pair_matches(first: int, second: int, *, limit: int) -> list[int]:
    """Return the newest matches that both agents have played, by id."""
    source = from_pair((first, second))
    before = _pass_planned(None)
    return _list_played(source, before=before, end=find_end(source, before), limit=limit)


def count_planned(pair: tuple[int, int], *, most: int) -> int:
    """Return how many matches of both can still be played, counted up to so many."""
    open_tournaments = Tournament.objects.exclude(state__in=Tournament.OVER)
    for agent in pair:
        open_tournaments = open_tournaments.filter(entrant__agent=agent)
    boards = set(open_tournaments.order_by().values_list("leaderboard", flat=True))
    if not boards:
        return 0
    begin = Match.objects.filter(Match.is_open(), leaderboard__in=boards).aggregate(pk=Min("pk"))
    if begin["pk"] is None:
        return 0
    source = from_pair(pair)
    rows = source.rows.filter(match_id__gte=begin["pk"], match__state__in=Match.OPEN)
    return _cut_off(rows, find_end(source, None)).order_by()[:most].count()


def _pass_planned(before: int | None) -> int:
    """Return the key to begin at: what is planned after the last outcome is not gone through."""
    newest = Outcome.objects.aggregate(pk=Max("match"))["pk"] or 0
    return newest + 1 if before is None else min(before, newest + 1)


def _list_played(source: Source, *, before: int, end: int | None, limit: int) -> list[int]:
    rows = _cut_off(source.rows.filter(match_id__lt=before, match__outcome__isnull=False), end)
    ids = rows.order_by("-match_id").values_list("match_id", flat=True)[:limit]
    return list(dict.fromkeys(ids))


def _cut_off(rows: QuerySet[Any, Any], end: int | None) -> QuerySet[Any, Any]:
    return rows if end is None else rows.filter(match_id__gte=end)
