"""The page of a tournament."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from matches.board import progress
from matches.ledger import pairing_warnings, server_checks
from matches.ledger.node_costs import report_nodes
from matches.models import Tournament
from matches.operations import explain
from matches.store import selectors
from matches.store.catalog import game_title, is_scored_game
from matches.store.clock import db_now
from pages import (
    brackets,
    campaignpages,
    crosstables,
    early_ends,
    paces,
    tournament_ends,
    tournament_results,
)
from pages.node_costs import describe_nodes
from pages.paging import cut_page, read_number
from pages.seating import list_seats, name_record

MATCHES_A_PAGE = 50
OWN, OF_BOARD = "own", "board"
# Which matches the crosstable counts, as the address says it.
COUNTS: Final = (OWN, OF_BOARD)


@require_safe
def show_tournament(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a tournament: who won, progress, who beat whom, its matches in planned order by key."""
    now = db_now()
    tournaments = Tournament.objects.select_related(
        "leaderboard", "counted", "imported", "campaign__tournament__leaderboard"
    )
    tournament = get_object_or_404(tournaments, pk=pk)
    board = tournament.leaderboard
    after = read_number(request, "after", default=0)
    matches = selectors.list_matches(tournament, after=after, limit=MATCHES_A_PAGE + 1)
    page, last = cut_page(matches, MATCHES_A_PAGE)
    campaign = getattr(tournament, "campaign", None)
    context = {
        "tournament": tournament,
        "board": board,
        "game": game_title(board.game),
        "shown": progress.describe_tournament(tournament, now=now),
        "explanation": paces.tell_end(
            explain.of_tournament(tournament, now=now), paces.measure_pace(tournament, now=now)
        ),
        # The part of the page that moves while a campaign runs.
        "campaign_html": campaignpages.render_campaign(campaign, now=now) if campaign else "",
        "warning": _choose_warning(tournament),
        "nodes": describe_nodes(report_nodes(tournament)),
        "trust": server_checks.describe_trust(board),
        "matches": [
            {"match": match, "seats": list_seats(match, game=board.game)} for match in page
        ],
        "next": last and last.sequence,
        **_describe_results(request, tournament),
    }
    return render(request, "pages/tournament.html", context)


def _choose_warning(tournament: Tournament) -> str | None:
    """Return one warning at a time: a budget that cannot suffice comes first."""
    # Of one that is over its rounds say what it was stopped by.
    if tournament.state in Tournament.OVER:
        return None
    return pairing_warnings.warn_of_budget(tournament) or pairing_warnings.warn_of_pairing(
        tournament
    )


def _describe_results(request: HttpRequest, tournament: Tournament) -> dict[str, Any]:
    """Return who won, the standings, the rounds and the crosstable."""
    counts = request.GET.get("counts", OWN)
    if counts not in COUNTS:
        raise Http404(f"counts must be {' or '.join(COUNTS)}, got {counts[:40]!r}")
    rounds = brackets.describe_rounds(tournament)
    results = tournament_results.describe_results(tournament, rounds)
    agents = [line.agent for line in results.lines[: crosstables.MAX_ENTRANTS]]
    return {
        "rounds": rounds,
        "state": tournament_ends.describe_state(tournament, rounds),
        "results": results,
        "n_entrants": results.n_entrants,
        # Nobody wins a file of results.
        "headline": None
        if hasattr(tournament, "imported")
        else tournament_results.describe_first(tournament, results, rounds),
        "reach": early_ends.describe_reach(tournament, rounds) if rounds else "",
        "notes": early_ends.list_notes(request, tournament, rounds) if rounds else [],
        "record": name_record(tournament.leaderboard.game),
        "is_scored": is_scored_game(tournament.leaderboard.game),
        "crosstable": crosstables.build_crosstable(
            tournament,
            agents,
            results.records,
            n_entrants=results.n_entrants,
            is_own=counts == OWN or not tournament.is_rated,
        ),
    }
