"""Leaderboards as lists show them: who leads, how sure that is, how much was played, what goes on.

A constant number of queries, however many boards, agents and matches there are.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from django.db.models import OuterRef, Subquery

from matches.models import Leaderboard, Rating, Tournament
from matches.store.catalog import game_problem, game_title
from matches.store.formats import format_ago, format_percent


class Leader(NamedTuple):
    """The agent of the highest rating among those that have played; low to high: 95 %.

    best: P(it is the best), empty where that is not known yet.
    """

    agent: int
    name: str
    mu: str
    low: str
    high: str
    best: str


class ShownBoard(NamedTuple):
    """A board of a list. state: one word or two; tone: good, bad or nothing."""

    board: Leaderboard
    game: str
    leader: Leader | None
    state: str
    tone: str


def list_first(limit: int) -> list[Leaderboard]:
    """Return the boards for the home page: the pinned ones, then the newest."""
    listed = Leaderboard.objects.filter(is_listed=True, is_rated=True)
    return list(listed.order_by("-is_pinned", "-pk")[:limit])


def describe_boards(boards: Sequence[Leaderboard], *, now: datetime) -> list[ShownBoard]:
    """Return boards as lists show them: two queries for all of them."""
    leaders = _find_leaders(boards)
    active = Tournament.objects.filter(state__in=Tournament.ACTIVE).order_by()
    # All that are active rather than those of these boards: they have an index and are few.
    playing = set(active.values_list("leaderboard_id", flat=True).distinct()) if boards else set()
    return [
        ShownBoard(
            board,
            game_title(board.game),
            leaders.get(board.pk),
            *_describe_state(board, is_playing=board.pk in playing, now=now),
        )
        for board in boards
    ]


def _describe_state(board: Leaderboard, *, is_playing: bool, now: datetime) -> tuple[str, str]:
    """Return the state of a board and its tone."""
    if game_problem(board.game):
        return "its game is missing", "bad"
    if is_playing:
        return "playing", "good"
    if board.rated_at is None:
        return "no match yet", ""
    return f"idle, last rated{format_ago(board.rated_at, now=now)}", ""


def _find_leaders(boards: Sequence[Leaderboard]) -> dict[int, Leader]:
    """Return the leaders by board; one look-up in the index of ratings per board, in one query."""
    rated = Rating.objects.filter(leaderboard=OuterRef("pk"), n_matches__gt=0)
    best = Subquery(rated.order_by("-mu", "agent_id").values("pk")[:1])
    chosen = Leaderboard.objects.filter(pk__in=[board.pk for board in boards])
    keys = chosen.order_by().annotate(best=best).values("best")
    chances = {
        board.pk: ""
        if board.leader_p_best is None
        else format_percent(board.leader_p_best, is_column=True)
        for board in boards
    }
    return {
        rating.leaderboard_id: Leader(
            rating.agent_id,
            rating.agent.name,
            f"{rating.mu:.2f}",
            f"{rating.low:.2f}",
            f"{rating.high:.2f}",
            chances[rating.leaderboard_id],
        )
        for rating in Rating.objects.filter(pk__in=keys).select_related("agent")
    }
