"""The pages: server-rendered, complete without JavaScript."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from arena.games import registry as games
from live import plots
from matches import selectors, standings
from matches.clock import db_now
from matches.models import Leaderboard, Match, Tournament
from matches.models.match import numbers
from matches.standings import TOP

N_RECENT_BOARDS = 12
BOARDS_A_PAGE = 50
MATCHES_A_PAGE = 50
PAIR = 2
MAX_DIGITS = 12


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the newest leaderboard, or what to type first."""
    newest = selectors.newest_board()
    if newest is None:
        context = {"nodes": standings.nodes(now=db_now())}
        return render(request, "pages/empty.html", context)
    return render(request, "pages/board.html", _board_context(newest, page=1))


@require_safe
def board(request: HttpRequest, name: str) -> HttpResponse:
    """Show one leaderboard; its first page is live."""
    found = get_object_or_404(Leaderboard, name=name)
    page = _number(request, "page", default=1)
    return render(request, "pages/board.html", _board_context(found, page=page))


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    """List the leaderboards, the newest first, a page at a time by key."""
    before = _number(request, "before", default=10**MAX_DIGITS - 1)
    found = list(Leaderboard.objects.filter(is_listed=True, pk__lt=before)[: BOARDS_A_PAGE + 1])
    shown = found[:BOARDS_A_PAGE]
    context = {"boards": _titled(shown), "next": shown[-1].pk if found[BOARDS_A_PAGE:] else None}
    return render(request, "pages/boards.html", context)


@require_safe
def tournament(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a tournament and its matches in planned order, a page at a time by key."""
    found = get_object_or_404(Tournament.objects.select_related("leaderboard"), pk=pk)
    after = _number(request, "after", default=0)
    rows = selectors.matches_of(found, after=after, limit=MATCHES_A_PAGE + 1)
    shown = rows[:MATCHES_A_PAGE]
    context = {
        "tournament": found,
        "board": found.leaderboard,
        "game": game_title(found.leaderboard.game),
        "shown": standings.tournament(found, now=db_now()),
        "matches": [{"match": match, "seats": seats(match)} for match in shown],
        "next": shown[-1].sequence if rows[MATCHES_A_PAGE:] else None,
    }
    return render(request, "pages/tournament.html", context)


@require_safe
def match(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a match: who sat where, every attempt with its reason, and the outcome."""
    wanted = Match.objects.select_related("tournament__leaderboard", "outcome", "order")
    found = get_object_or_404(wanted.prefetch_related("seat_rows__agent"), pk=pk)
    context = {
        "match": found,
        "board": found.tournament.leaderboard,
        "game": game_title(found.tournament.leaderboard.game),
        "seats": seats(found),
        "attempts": found.attempts.all(),
    }
    return render(request, "pages/match.html", context)


def game_title(game: str) -> str:
    """Return the title of a game, or its id when its catalog file is gone."""
    return games.get(game).spec.title if game in games.names() else game


def seats(shown: Match) -> list[dict[str, Any]]:
    """Return who sat where and how it ended for each, in words."""
    outcome = getattr(shown, "outcome", None)
    ranks = numbers(outcome.ranks) if outcome else []
    rows = sorted(shown.seat_rows.all(), key=lambda row: row.seat)
    return [
        {
            "seat": row.seat,
            "agent": row.agent,
            "result": _result(ranks, row.seat) if ranks else "",
            "is_guilty": outcome is not None and outcome.guilty_seat == row.seat,
        }
        for row in rows
    ]


def _result(ranks: list[int], seat: int) -> str:
    rank = ranks[seat]
    if ranks.count(rank) == len(ranks):
        return "draw"
    if len(ranks) == PAIR:
        return "lost" if rank else "won"
    return f"place {rank + 1}"


def _board_context(found: Leaderboard, *, page: int) -> dict[str, Any]:
    now = db_now()
    start = max(page - 1, 0) * TOP
    rows = standings.rows(found.pk, start=start)
    if page < 1 or (page > 1 and not rows):
        raise Http404(f"{found} has no page {page}")
    return {
        "board": found,
        "game": game_title(found.game),
        "rows": rows,
        "plots": plots.of_board(found.pk, rows) if page == 1 else [],
        "status": standings.status(found, rows, now=now),
        "nodes": standings.nodes(now=now),
        "boards": _titled(Leaderboard.objects.filter(is_listed=True)[:N_RECENT_BOARDS]),
        "is_live": page == 1,
        "page": page,
        "next": page + 1 if standings.ranked(found.pk)[start + TOP :].exists() else None,
    }


def _titled(found: Any) -> list[dict[str, Any]]:
    return [{"board": board, "game": game_title(board.game)} for board in found]


def _number(request: HttpRequest, name: str, *, default: int) -> int:
    """Return a positive number of the address. Raises Http404 naming it when it is none."""
    text = request.GET.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise Http404(f"{name} must be a number, got {text[:40]!r}")
    return int(text)
