"""Leaderboards as lists show them: who leads, how sure that is, how much was played, what goes on.

A constant number of queries, however many boards, agents and matches there are.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from arena.ratings.base import Z95
from matches.models import Leaderboard, Rating, Tournament
from matches.models.choices import game_choices
from matches.store.catalog import game_problem, game_title
from matches.store.clock import db_now
from matches.store.explanation import format_since
from pages.match_list import BAD_REQUEST, MAX_TEXT, BadAddressError, Choice
from pages.paging import HIGHEST, cut_page, read_number

BOARDS_A_PAGE = 50
MOST_PINNED = 50
STATES = {"playing": "playing", "resting": "at rest", "unlisted": "unlisted"}


class Leader(NamedTuple):
    """The agent of the highest rating among those that have played; low to high: 95 %."""

    agent: int
    name: str
    mu: str
    low: str
    high: str


class ShownBoard(NamedTuple):
    """A board of a list. state: one word or two; tone: good, bad or nothing."""

    board: Leaderboard
    game: str
    leader: Leader | None
    state: str
    tone: str


class Asked(NamedTuple):
    """What the address asks for: part of the name, game and state; empty: any."""

    q: str
    game: str
    state: str


@require_safe
def show_boards(request: HttpRequest) -> HttpResponse:
    """List the leaderboards: the pinned ones, then the newest, a page at a time by key."""
    before = read_number(request, "before", default=HIGHEST)
    try:
        asked = read_asked(request.GET)
    except BadAddressError as error:
        refusal = {"problem": str(error), "choices": _list_choices(Asked("", "", ""))}
        return render(request, "pages/boards.html", refusal, status=BAD_REQUEST)
    matching = filter_boards(asked)
    # By key rather than by page number: a board made meanwhile moves no row to the next page.
    newest = matching.filter(is_pinned=False, pk__lt=before).order_by("-pk")
    page, last = cut_page(list(newest[: BOARDS_A_PAGE + 1]), BOARDS_A_PAGE)
    # Above the first page only, all of them: somebody has chosen them by hand.
    pinned = matching.filter(is_pinned=True).order_by("-pk")[:MOST_PINNED]
    is_first = "before" not in request.GET
    given = {name: value for name, value in asked._asdict().items() if value}
    context = {
        "boards": describe_boards([*(pinned if is_first else ()), *page], now=db_now()),
        "q": asked.q,
        "is_chosen": bool(given),
        "choices": _list_choices(asked),
        "next": f"{reverse('boards')}?{urlencode(given | {'before': last.pk})}" if last else "",
    }
    return render(request, "pages/boards.html", context)


def read_asked(given: QueryDict) -> Asked:
    """Return what an address asks for. Raises BadAddressError naming the field and the value."""
    # PostgreSQL takes no NUL.
    fields = {name: given.get(name, "").strip()[:MAX_TEXT] for name in Asked._fields}
    asked = Asked(**{name: text.replace("\0", "") for name, text in fields.items()})
    for name, text, options in (
        ("game", asked.game, [game for game, _ in game_choices()]),
        ("state", asked.state, list(STATES)),
    ):
        if text and text not in options:
            raise BadAddressError(f"{name} must be one of {', '.join(options)}, got {text[:40]!r}")
    return asked


def filter_boards(asked: Asked) -> QuerySet[Leaderboard]:
    """Return the boards that an address asks for: the listed ones unless it says unlisted."""
    boards = Leaderboard.objects.filter(is_listed=asked.state != "unlisted", is_rated=True)
    if asked.q:
        boards = boards.filter(Q(name__icontains=asked.q) | Q(title__icontains=asked.q))
    if asked.game:
        boards = boards.filter(game=asked.game)
    if asked.state in ("playing", "resting"):
        active = Tournament.objects.filter(state__in=Tournament.ACTIVE).values("leaderboard")
        is_playing = Q(pk__in=active)
        boards = boards.filter(is_playing if asked.state == "playing" else ~is_playing)
    return boards


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
    return f"at rest{format_since(board.rated_at, now=now)}", ""


def _find_leaders(boards: Sequence[Leaderboard]) -> dict[int, Leader]:
    """Return the leaders by board; one look-up in the index of ratings per board, in one query."""
    rated = Rating.objects.filter(leaderboard=OuterRef("pk"), n_matches__gt=0)
    best = Subquery(rated.order_by("-mu", "agent_id").values("pk")[:1])
    chosen = Leaderboard.objects.filter(pk__in=[board.pk for board in boards])
    keys = chosen.order_by().annotate(best=best).values("best")
    return {
        rating.leaderboard_id: Leader(
            rating.agent_id,
            rating.agent.name,
            f"{rating.mu:.2f}",
            f"{rating.mu - Z95 * rating.sd:.2f}",
            f"{rating.mu + Z95 * rating.sd:.2f}",
        )
        for rating in Rating.objects.filter(pk__in=keys).select_related("agent")
    }


def _list_choices(asked: Asked) -> list[Choice]:
    games = [(name, str(title)) for name, title in game_choices()]
    return [
        Choice("game", "Game", asked.game, [("", "any"), *games]),
        Choice("state", "State", asked.state, [("", "listed"), *STATES.items()]),
    ]
