"""The page of a tournament."""

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
from pages.paging import cut_page, read_number
from pages.seating import list_seats

MATCHES_A_PAGE = 50


@require_safe
def show_tournament(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a tournament: progress, who beat whom, and its matches in planned order by key."""
    now = db_now()
    tournaments = Tournament.objects.select_related(
        "leaderboard", "campaign__tournament__leaderboard"
    )
    tournament = get_object_or_404(tournaments, pk=pk)
    board = tournament.leaderboard
    after = read_number(request, "after", default=0)
    matches = selectors.list_matches(tournament, after=after, limit=MATCHES_A_PAGE + 1)
    page, last = cut_page(matches, MATCHES_A_PAGE)
    n_entrants = Entrant.objects.filter(tournament=tournament).count()
    campaign = getattr(tournament, "campaign", None)
    context = {
        "tournament": tournament,
        "board": board,
        "game": game_title(board.game),
        "shown": standings.describe_tournament(tournament, now=now),
        "pace": paces.measure_pace(tournament, now=now),
        "explanation": explain.of_tournament(tournament, now=now),
        "crosstable": crosstables.build_crosstable(tournament, n_entrants=n_entrants),
        "n_entrants": n_entrants,
        # The part of the page that moves while a campaign runs.
        "campaign_html": campaignpages.render_campaign(campaign, now=now) if campaign else "",
        "rounds": brackets.describe_rounds(tournament),
        # One warning at a time: a budget that cannot suffice comes first.
        "warning": pairing_warnings.warn_of_budget(tournament)
        or pairing_warnings.warn_of_pairing(tournament),
        "matches": [
            {"match": match, "seats": list_seats(match, game=board.game)} for match in page
        ],
        "next": last and last.sequence,
    }
    return render(request, "pages/tournament.html", context)
