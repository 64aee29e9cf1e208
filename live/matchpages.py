"""The page of a match."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from live.seating import game_title, seats
from matches.models import Match


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
