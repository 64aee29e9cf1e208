"""The page of a tournament."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from matches.ledger import pairing_warnings
from matches.models import Entrant, Tournament
from matches.operations import explain
from matches.ratings import standings
from matches.store import selectors
from matches.store.catalog import game_title
from matches.store.clock import db_now
from pages import brackets, campaignpages, crosstables, paces
from pages.addresses import number
from pages.seating import seats

MATCHES_A_PAGE = 50


@require_safe
def tournament(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a tournament: progress, who beat whom, and its matches in planned order by key."""
    now = db_now()
    wanted = Tournament.objects.select_related("leaderboard", "campaign__tournament__leaderboard")
    found = get_object_or_404(wanted, pk=pk)
    after = number(request, "after", default=0)
    rows = selectors.list_matches(found, after=after, limit=MATCHES_A_PAGE + 1)
    shown = rows[:MATCHES_A_PAGE]
    n_entrants = Entrant.objects.filter(tournament=found).count()
    context = {
        "tournament": found,
        "board": found.leaderboard,
        "game": game_title(found.leaderboard.game),
        "shown": standings.describe_tournament(found, now=now),
        "pace": paces.of_tournament(found, now=now),
        "explanation": explain.of_tournament(found, now=now),
        "crosstable": crosstables.of_tournament(found, n_entrants=n_entrants),
        "n_entrants": n_entrants,
        "campaign_html": _campaign(found, now=now),
        "rounds": brackets.of_tournament(found),
        "warning": pairing_warnings.warn_of_budget(found)
        or pairing_warnings.warn_of_pairing(found),
        "matches": [
            {"match": match, "seats": seats(match, game=found.leaderboard.game)} for match in shown
        ],
        "next": shown[-1].sequence if rows[MATCHES_A_PAGE:] else None,
    }
    return render(request, "pages/tournament.html", context)


def _campaign(found: Tournament, *, now: datetime) -> str:
    """Return the part of the page that moves while a campaign runs; empty without one."""
    campaign = getattr(found, "campaign", None)
    return campaignpages.drawn(campaign, now=now) if campaign else ""
