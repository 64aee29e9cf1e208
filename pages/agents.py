"""The page of an agent: what it is, how strong, against whom, and what went wrong."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Case, Count, F, IntegerField, OuterRef, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from arena.ratings.base import Z95
from experience.models import TrainingRun
from matches.models import Agent, Rating
from matches.operations import explain
from matches.ratings.rank_ranges import RankRange
from matches.ratings.standings import format_mean
from matches.store.catalog import game_title, is_scored_game, policy_title
from matches.store.clock import db_now
from pages import agentmatches, campaignpages, lineages, records
from pages.paging import read_optional_number
from pages.plots import agent_history
from pages.seating import name_record
from pages.training.recommending import find_fitting

MAX_BOARDS = 20
OPPONENTS_A_PAGE = 25


@require_safe
def show_agent(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an agent: checkpoint, ratings, history, opponents, matches and failures."""
    agent = get_object_or_404(Agent.objects.select_related("checkpoint", "newer"), pk=pk)
    ratings = rank_on_boards(agent)
    chosen = _choose_rating(ratings, request.GET.get("board", ""))
    # Of equals the newest first.
    by_matches = sorted(ratings, key=lambda rating: -rating.n_matches)
    boards = [_describe_rating(rating) for rating in by_matches]
    before = read_optional_number(request, "match")
    matches = agentmatches.list_matches(agent, before=before)
    # Those of a later page are not its newest.
    recent = agentmatches.list_recent(agent, matches["matches"]) if before is None else []
    context = {
        "agent": agent,
        "game": game_title(agent.game),
        "record": name_record(agent.game),
        "is_scored": is_scored_game(agent.game),
        "policy": policy_title(agent.policy),
        "parameters": list(agent.parameters.items()),
        "training_run": _find_run(agent),
        "lineage": lineages.trace_lineage(agent),
        "older": lineages.list_older_versions(agent),
        "alarms": campaignpages.list_open_alarms(agent=agent),
        "explanation": explain.of_agent(agent, now=db_now()),
        "ratings": boards,
        "standing": next((board for board in boards if board["rating"] is chosen), None),
        "chosen": chosen,
        **matches,
        "recent": recent,
        "failures": agentmatches.find_failures(
            agent.pk, before=read_optional_number(request, "failure")
        ),
    }
    if chosen is not None:
        board = chosen.leaderboard
        after = read_optional_number(request, "opponent")
        context["fitting"] = find_fitting(chosen)
        context["history"] = agent_history.draw_agent(board, agent.pk)
        context["opponents"], context["next_opponent"] = records.list_opponents(
            board.pk, agent.pk, after=after, limit=OPPONENTS_A_PAGE
        )
    return render(request, "pages/agent.html", context)


def _find_run(agent: Agent) -> TrainingRun | None:
    """Return the training run that published the agent's checkpoint, if one did."""
    if agent.checkpoint is None:
        return None
    return TrainingRun.objects.filter(name=agent.checkpoint.run).first()


def _describe_rating(rating: Any) -> dict[str, Any]:
    """Return a rating of `rank_on_boards` as its row shows it."""
    return {
        "board": rating.leaderboard,
        "rating": rating,
        "place": RankRange(rating.rank, rating.best, rating.worst),
        "mean": describe_mean(rating),
    }


def describe_mean(rating: Rating) -> tuple[str, str]:
    """Return the mean score and its interval of a game of one seat, else nothing."""
    if rating.mean_score is None:
        return "", ""
    return format_mean(rating.mean_score, rating.score_low, rating.score_high)


def rank_on_boards(agent: Agent) -> Sequence[Any]:
    """Return the ratings on the newest leaderboards: one query.

    With the rank of each, and the best and the worst that are left open.
    """

    def count_rows(rows: QuerySet[Rating]) -> Any:
        counts = rows.order_by().values("leaderboard").annotate(n=Count("pk")).values("n")
        return Coalesce(Subquery(counts, output_field=IntegerField()), 0)

    listed = Rating.objects.filter(agent=agent, leaderboard__is_rated=True)
    others = Rating.objects.filter(leaderboard=OuterRef("leaderboard"))
    played, unplayed = others.filter(n_matches__gt=0), others.filter(n_matches=0)
    # Two counts instead of one with OR: each of them follows the index of the ranking.
    above = count_rows(played.filter(mu__gt=OuterRef("mu")))
    above += count_rows(played.filter(mu=OuterRef("mu"), agent__lt=OuterRef("agent")))
    last = count_rows(played) + count_rows(unplayed.filter(agent__lt=OuterRef("agent")))
    rank = 1 + Case(When(n_matches=0, then=last), default=above)
    # As matches.ratings.rank_ranges: who lies above or below it for sure. The first condition
    # follows the index, and leaves few to the second.
    least, most = (F("mu") + side * F("sd") for side in (-Z95, Z95))
    own_least, own_most = (OuterRef("mu") + side * OuterRef("sd") for side in (-Z95, Z95))
    surely_above = played.filter(mu__gt=own_most).alias(least=least).filter(least__gt=own_most)
    surely_below = played.filter(mu__lt=own_least).alias(most=most).filter(most__lt=own_least)
    best, worst = 1 + count_rows(surely_above), count_rows(played) - count_rows(surely_below)
    newest = listed.select_related("leaderboard").order_by("-leaderboard_id")
    ranked = newest.annotate(rank=rank, best=best, worst=worst)
    return list(ranked[:MAX_BOARDS])


def _choose_rating(ratings: Sequence[Rating], name: str) -> Rating | None:
    """Return the rating on the board of this name, without one that with most matches."""
    if not name:
        return max(ratings, key=lambda rating: rating.n_matches, default=None)
    for rating in ratings:
        if rating.leaderboard.name == name:
            return rating
    raise Http404(f"the agent is not on a leaderboard {name[:80]!r}")
