"""The page of a season: a leaderboard as it stood when it was frozen."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from arena.ratings.base import Z95
from matches.models import Season, SeasonRow
from matches.store.catalog import game_title
from pages.addresses import number

ROWS_A_PAGE = 200


@require_safe
def season(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Show the ranks of a season, a page at a time by rank."""
    wanted = Season.objects.select_related("leaderboard")
    found = get_object_or_404(wanted, pk=pk, leaderboard__name=name)
    after = number(request, "after", default=0)
    ranked = SeasonRow.objects.filter(season=found, rank__gt=after).order_by("rank")
    rows = list(ranked[: ROWS_A_PAGE + 1])
    shown = rows[:ROWS_A_PAGE]
    context = {
        "season": found,
        "board": found.leaderboard,
        "game": game_title(found.leaderboard.game),
        "rows": [_shown(row) for row in shown],
        "next": shown[-1].rank if rows[ROWS_A_PAGE:] else None,
    }
    return render(request, "pages/season.html", context)


def _shown(row: SeasonRow) -> dict[str, Any]:
    half = Z95 * row.sd
    return {"row": row, "half": half, "low": row.mu - half, "high": row.mu + half}
