"""The pages of leaderboards and of their seasons: rendered on the server, complete without scripts.

A season is a leaderboard as it stood when it was frozen.
"""

import json
from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from matches.board import progress
from matches.models import Leaderboard, Rating, Season, SeasonRow
from matches.ratings import axes, standings
from matches.ratings.rank_ranges import Ladder, build_ladder
from matches.ratings.results_files import list_forms
from matches.ratings.standings import TOP, Row
from matches.store import selectors
from matches.store.catalog import game_problem, game_title, is_scored_game, suite_of
from matches.store.clock import db_now
from pages import (
    board_list,
    board_table,
    campaignpages,
    elo,
    filters,
    rowtexts,
    transitivity,
    winrates,
)
from pages.columns import list_columns
from pages.downloads.files import MAX_ROWS, read_form, send_table
from pages.filters import View
from pages.paging import cut_page, read_number
from pages.plots import board_history, strength
from pages.seating import name_record

N_RECENT_BOARDS = 12
N_SEASONS = 12
SEASON_ROWS_A_PAGE = 200


@require_safe
def show_board(request: HttpRequest, name: str) -> HttpResponseBase:
    """Show one leaderboard; its first page is live."""
    board, view = get_object_or_404(Leaderboard, name=name), filters.read_view(request)
    if form := read_form(request):
        return send_table(request, board_table.make_table(board, view), form)
    page = read_number(request, "page", default=1)
    context = {**_describe_page(board, view, page=page), "most_lines": MAX_ROWS}
    return render(request, "pages/board.html", context)


@require_safe
def show_season(request: HttpRequest, name: str, pk: int) -> HttpResponseBase:
    """Show the ranks of a season, a page at a time by rank."""
    seasons = Season.objects.select_related("leaderboard")
    season = get_object_or_404(seasons, pk=pk, leaderboard__name=name)
    if form := read_form(request):
        return send_table(request, board_table.make_season_table(season), form)
    after = read_number(request, "after", default=0)
    ranked = SeasonRow.objects.filter(season=season, rank__gt=after).order_by("rank")
    page, last = cut_page(list(ranked[: SEASON_ROWS_A_PAGE + 1]), SEASON_ROWS_A_PAGE)
    played = SeasonRow.objects.filter(season=season, n_matches__gt=0)
    ladder = build_ladder(list(played.values_list("mu", "sd")))
    intervals = [(row.low, row.high) for row in page if row.n_matches]
    context = {
        "season": season,
        "board": season.leaderboard,
        "game": game_title(season.leaderboard.game),
        "record": name_record(season.leaderboard.game),
        "rows": [{"row": row, "place": _place_row(row, ladder)} for row in page],
        "axis": axes.fit_axis_to_intervals(intervals),
        "next": last and last.rank,
        "most_lines": MAX_ROWS,
    }
    return render(request, "pages/season.html", context)


def _place_row(row: SeasonRow, ladder: Ladder) -> str:
    return str(ladder.place(row.rank, row.mu, row.sd)) if row.n_matches else ""


def _describe_page(board: Leaderboard, view: View, *, page: int) -> dict[str, Any]:
    now, record, is_scored = db_now(), name_record(board.game), is_scored_game(board.game)
    rows, n_rows = _find_rows(board, view, page=page)
    address = reverse("board", args=[board.name])
    status = progress.describe_board(board, rows, now=now)
    unplayed = [tournament for tournament in status["tournaments"] if tournament["pending"] != "0"]
    shown_rows, axis, scale = rows, status["axis"], None
    if view.scale:
        scale = elo.describe_scale(board)
        shown_rows = [elo.convert_row(row, scale) for row in rows]
        axis = elo.convert_axis(axis, scale)
    played = [row for row in rows if standings.has_played(row)]
    choices = filters.list_choices(board, view)
    return {
        "board": board,
        "game": game_title(board.game),
        "suite": suite_of(board.game),
        "problem": game_problem(board.game),
        "rows": rows,
        "row_texts": rowtexts.render_rows(
            shown_rows, record.label, board=board.name, is_scored=is_scored
        ),
        "has_played": bool(played),
        "view": view,
        "n_found": f"{n_rows:,}",
        "columns": list_columns(view, address, record, is_scored=is_scored),
        "is_scored": is_scored,
        "record": record,
        "choices": choices,
        "chips": filters.list_chips(view, choices, address),
        **(_draw_board(board, played) if view.is_plain and page == 1 else {}),
        "status": status,
        "is_playing": bool(unplayed),
        "is_paused": all(tournament["state"] == "paused" for tournament in unplayed),
        "axis": axis,
        "scale": scale and json.dumps(scale),
        "other_scale": address + view.make_query(page, scale="" if scale else filters.ELO),
        "result_forms": list_forms(board) if n_rows else (),
        "n_imported": selectors.count_imported(board),
        "nodes": progress.count_nodes(now=now),
        "boards": _add_titles(board_list.list_first(N_RECENT_BOARDS)),
        "is_live": page == 1,
        "here": address + view.make_query(page),
        "previous": address + view.make_query(page - 1) if page > 1 else "",
        "next": address + view.make_query(page + 1) if page * TOP < n_rows else "",
    }


def _find_rows(board: Leaderboard, view: View, *, page: int) -> tuple[list[Row], int]:
    """Return the rows of a page, and how many there are on all pages. Raises Http404."""
    start = max(page - 1, 0) * TOP
    if view.is_plain:
        n_rows = Rating.objects.filter(leaderboard=board).count()
        rows = standings.load_rows(board.pk, start=start)
    else:
        rows, n_rows = filters.find_rows(board, view, start=start)
    if page < 1 or (page > 1 and not rows):
        raise Http404(f"{board} has no page {page}")
    return rows, n_rows


def _draw_board(board: Leaderboard, rows: list[Row]) -> dict[str, Any]:
    # Only the first page of the whole board has these: they say nothing about a part of the rows.
    return {
        "plots": strength.draw_plots(board.pk, rows),
        "score_plot": strength.draw_scores(board.pk) if is_scored_game(board.game) else None,
        "history": board_history.draw_history(board, rows),
        "matrix": winrates.build_matrix(board.pk, rows) if len(rows) > 1 else [],
        "rates": board_history.draw_rates(board),
        "one_number": transitivity.describe_board(board),
        "seat_advantage": transitivity.describe_seat_advantage(board),
        "draws": transitivity.describe_draws(board),
        "alarms": campaignpages.list_open_alarms(campaign__tournament__leaderboard=board),
        "campaigns": campaignpages.list_newest(tournament__leaderboard=board),
        "seasons": board.seasons.order_by("-pk")[:N_SEASONS],
    }


def _add_titles(boards: Iterable[Leaderboard]) -> list[dict[str, Any]]:
    return [{"board": board, "game": game_title(board.game)} for board in boards]
