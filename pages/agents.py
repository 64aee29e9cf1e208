"""The page of an agent: what it is, how strong, against whom, and what went wrong."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from arena.ratings.base import Z95
from matches.models import Agent, Rating
from matches.operations import explain
from matches.store.catalog import game_title, policy_title
from matches.store.clock import db_now
from pages import agent_history, agentmatches, campaignpages, lineages, records
from pages.addresses import optional
from pages.seating import seats

MAX_BOARDS = 20
MAX_OLDER = 5
OPPONENTS_A_PAGE = 25
MATCHES_A_PAGE = 25


@require_safe
def agent(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an agent: checkpoint, ratings, history, opponents, matches and failures."""
    found = get_object_or_404(Agent.objects.select_related("checkpoint", "newer"), pk=pk)
    ratings = _ratings(found)
    chosen = _chosen(ratings, request.GET.get("board", ""))
    context = {
        "agent": found,
        "game": game_title(found.game),
        "policy": policy_title(found.policy),
        "lineage": _lineage(found),
        "older": _older(found),
        "alarms": campaignpages.open_alarms(agent=found),
        "explanation": explain.of_agent(found, now=db_now()),
        "ratings": [_shown(rating) for rating in ratings],
        "chosen": chosen,
        **_on_board(found, chosen, after=optional(request, "opponent")),
        **_matches(found, before=optional(request, "match")),
        "failures": agentmatches.failures(found.pk, before=optional(request, "failure")),
    }
    return render(request, "pages/agent.html", context)


def _older(found: Agent) -> list[Agent]:
    """Return the versions of its code before, the newest first."""
    older: list[Agent] = []
    before = found.older.first()
    while before is not None and len(older) < MAX_OLDER:
        older.append(before)
        before = before.older.first()
    return older


def _ratings(found: Agent) -> Sequence[Rating]:
    """Return the ratings on the newest leaderboards, with their ranks: one query."""
    listed = Rating.objects.filter(agent=found, leaderboard__is_listed=True)
    others = Rating.objects.filter(leaderboard=OuterRef("leaderboard"))
    rank = 1 + _n(others.filter(mu__gt=OuterRef("mu")))
    rank += _n(others.filter(mu=OuterRef("mu"), agent__lt=OuterRef("agent")))
    newest = listed.select_related("leaderboard").order_by("-leaderboard_id")
    return list(newest.annotate(rank=rank)[:MAX_BOARDS])


def _n(rows: QuerySet[Rating]) -> Any:
    counted = rows.order_by().values("leaderboard").annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def _chosen(ratings: Sequence[Rating], name: str) -> Rating | None:
    """Return the rating on the board that was asked for, else on the one with most matches."""
    if name:
        chosen = [rating for rating in ratings if rating.leaderboard.name == name]
        if not chosen:
            raise Http404(f"the agent is not on a leaderboard {name[:80]!r}")
        return chosen[0]
    return max(ratings, key=lambda rating: rating.n_matches, default=None)


def _shown(rating: Any) -> dict[str, Any]:
    half = Z95 * rating.sd
    return {
        "board": rating.leaderboard,
        "rating": rating,
        "rank": rating.rank,
        "half": half,
        "low": rating.mu - half,
        "high": rating.mu + half,
    }


def _on_board(found: Agent, chosen: Rating | None, *, after: int | None) -> dict[str, Any]:
    if chosen is None:
        return {"history": None, "opponents": [], "next_opponent": None}
    board = chosen.leaderboard
    page = records.opponents(board.pk, found.pk, after=after, limit=OPPONENTS_A_PAGE)
    return {
        "history": agent_history.draw_agent(board, found.pk),
        "opponents": page[0],
        "next_opponent": page[1],
    }


def _matches(found: Agent, *, before: int | None) -> dict[str, Any]:
    rows = agentmatches.newest(found.pk, before=before, limit=MATCHES_A_PAGE + 1)
    shown = rows[:MATCHES_A_PAGE]
    return {
        "matches": [{"match": match, "seats": seats(match, game=found.game)} for match in shown],
        "next_match": shown[-1].pk if rows[MATCHES_A_PAGE:] else None,
    }


def _lineage(found: Agent) -> lineages.Lineage | None:
    if found.checkpoint is None:
        return None
    return lineages.of_checkpoint(found.checkpoint, game=found.game)
