"""The pages: server-rendered, complete without JavaScript."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from matches.models import Leaderboard, Rating
from matches.ratings import standings
from matches.ratings.standings import TOP, Row
from matches.store import selectors
from matches.store.catalog import game_problem, game_title
from matches.store.clock import db_now
from pages import (
    board_history,
    campaignpages,
    filters,
    rowtexts,
    strength_plots,
    transitivity,
    winrates,
)
from pages.addresses import MAX_DIGITS, number
from pages.columns import columns
from pages.filters import View

N_RECENT_BOARDS = 12
N_SEASONS = 12
BOARDS_A_PAGE = 50


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show the newest leaderboard, or what to type first."""
    newest = selectors.find_newest_board()
    if newest is None:
        context = {"nodes": standings.count_nodes(now=db_now())}
        return render(request, "pages/empty.html", context)
    return render(request, "pages/board.html", _board_context(newest, View(), page=1))


@require_safe
def board(request: HttpRequest, name: str) -> HttpResponse:
    """Show one leaderboard; its first page is live."""
    found = get_object_or_404(Leaderboard, name=name)
    page = number(request, "page", default=1)
    context = _board_context(found, filters.read(request), page=page)
    return render(request, "pages/board.html", context)


@require_safe
def boards(request: HttpRequest) -> HttpResponse:
    """List the leaderboards, the newest first, a page at a time by key."""
    before = number(request, "before", default=10**MAX_DIGITS - 1)
    found = list(Leaderboard.objects.filter(is_listed=True, pk__lt=before)[: BOARDS_A_PAGE + 1])
    shown = found[:BOARDS_A_PAGE]
    context = {
        "boards": _titled(shown),
        "next": shown[-1].pk if found[BOARDS_A_PAGE:] else None,
        "campaigns": campaignpages.newest(),
    }
    return render(request, "pages/boards.html", context)


def _board_context(found: Leaderboard, view: View, *, page: int) -> dict[str, Any]:
    now = db_now()
    rows, n_found = _rows(found, view, page=page)
    if page < 1 or (page > 1 and not rows):
        raise Http404(f"{found} has no page {page}")
    is_whole = view.is_plain and page == 1
    address = reverse("board", args=[found.name])
    return {
        "board": found,
        "game": game_title(found.game),
        "problem": game_problem(found.game),
        "rows": rows,
        "row_texts": rowtexts.html(rows),
        "view": view,
        "n_found": f"{n_found:,}",
        "columns": columns(view, address),
        "choices": filters.choices(found, view),
        **(_drawings(found, rows) if is_whole else {}),
        "status": standings.describe_board(found, rows, now=now),
        "nodes": standings.count_nodes(now=now),
        "boards": _titled(Leaderboard.objects.filter(is_listed=True)[:N_RECENT_BOARDS]),
        "is_live": page == 1,
        "here": address + view.query(page),
        "previous": address + view.query(page - 1) if page > 1 else "",
        "next": address + view.query(page + 1) if page * TOP < n_found else "",
    }


def _drawings(found: Leaderboard, rows: list[Row]) -> dict[str, Any]:
    return {
        "plots": strength_plots.draw_plots(found.pk, rows),
        "history": board_history.draw_history(found, rows),
        "matrix": winrates.matrix(found.pk, rows) if len(rows) > 1 else [],
        "rates": board_history.draw_rates(found),
        "one_number": transitivity.of_board(found),
        "seat_advantage": transitivity.seat_advantage(found),
        "alarms": campaignpages.open_alarms(campaign__tournament__leaderboard=found),
        "campaigns": campaignpages.newest(tournament__leaderboard=found),
        "seasons": found.seasons.order_by("-pk")[:N_SEASONS],
    }


def _rows(found: Leaderboard, view: View, *, page: int) -> filters.Found:
    start = max(page - 1, 0) * TOP
    if not view.is_plain:
        return filters.find(found, view, start=start)
    n = Rating.objects.filter(leaderboard=found).count()
    return filters.Found(standings.load_rows(found.pk, start=start), n)


def _titled(found: Any) -> list[dict[str, Any]]:
    return [{"board": board, "game": game_title(board.game)} for board in found]
