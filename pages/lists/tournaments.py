"""The list of tournaments."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from matches.campaigns.endings import describe_answer, is_answered
from matches.campaigns.starting import IS_SPRT
from matches.models import Entrant, Tournament
from matches.models.choices import game_choices, pairing_choices
from matches.store.catalog import game_title
from pages.campaign_verdicts import describe_certainty
from pages.downloads.files import Column, Line, Table
from pages.lists.address import ListAddress, find_agents
from pages.lists.showing import cut_by_key, filter_days, show_list, walk_by_key
from pages.tournament_ends import SHOWN, Ending, read_endings

NAMES = ("q", "game", "state", "agent", "leaderboard", "pairing", "from", "to")
OFTEN = ("q", "game", "state", "agent")
LABELS = {"q": "Name has", "from": "Made from", "to": "Made until"}
OPEN = "open"
# As pages show it, one that is planned while it plays is running.
RUNNING = Q(state=Tournament.State.RUNNING) | Q(state=Tournament.State.PLANNING, n_planned__gt=0)

COLUMNS = (
    Column("id", int),
    Column("name", str),
    Column("leaderboard", str),
    Column("game", str),
    Column("pairing", str),
    Column("state", str),
    Column("n_agents", int),
    Column("n_matches", int),
    Column("n_done", int),
    Column("n_forfeits", int),
    Column("n_void", int),
    Column("n_cancelled", int),
    Column("created_at", datetime),
    Column("started_at", datetime),
    Column("finished_at", datetime),
)


class ListedTournament(NamedTuple):
    """A tournament of the list; ending: where it is known; answer: what a campaign of it says.

    certainty: of that answer, empty where it is none.
    """

    tournament: Tournament
    game: str
    pairing: str
    n_agents: int
    ending: Ending | None
    answer: str
    certainty: str


@require_safe
def show_tournaments(request: HttpRequest) -> HttpResponseBase:
    """List the tournaments that the address asks for, the newest first."""
    address = ListAddress(request.GET, "tournaments", NAMES, labels=LABELS)
    return show_list(
        request,
        "pages/tournaments.html",
        _describe_form(address),
        lambda: _list_page(address),
        lambda: _make_table(address),
    )


def filter_tournaments(address: ListAddress) -> QuerySet[Tournament]:
    """Return the tournaments that an address asks for. Raises BadAddressError."""
    tournaments = _filter_state(address.read_one_of("state", [OPEN, *Tournament.State.values]))
    if text := address.read_text("q"):
        tournaments = tournaments.filter(name__icontains=text)
    game = address.read_one_of("game", [name for name, _ in game_choices()])
    if game:
        tournaments = tournaments.filter(leaderboard__game=game)
    if agents := find_agents(address.read_texts("agent")[:1], game):
        entered = Entrant.objects.filter(agent=agents[0]).order_by()
        tournaments = tournaments.filter(pk__in=entered.values("tournament"))
    if board := address.read_leaderboard():
        tournaments = tournaments.filter(leaderboard=board)
    if pairing := address.read_text("pairing"):
        tournaments = tournaments.filter(pairing=pairing)
    return filter_days(tournaments.select_related(*SHOWN), address, "created_at")


def add_sizes(tournaments: QuerySet[Tournament]) -> QuerySet[Tournament]:
    """Return the tournaments with `n_agents`: by the last position, not by a count of entrants."""
    last = Entrant.objects.filter(tournament=OuterRef("pk")).order_by("-position")
    position = Subquery(last.values("position")[:1], output_field=IntegerField())
    return tournaments.annotate(n_agents=1 + Coalesce(position, -1))


def _filter_state(state: str) -> QuerySet[Tournament]:
    tournaments = Tournament.objects.all()
    if state == OPEN:
        return tournaments.filter(state__in=Tournament.UNDER_WAY)
    if state == Tournament.State.RUNNING:
        return tournaments.filter(RUNNING)
    if state == Tournament.State.PLANNING:
        return tournaments.filter(state=state, n_planned=0)
    return tournaments.filter(state=state) if state else tournaments


def _read_answer(tournament: Tournament) -> str:
    """Return what its campaign says at its end; empty before that, and without one."""
    campaign = getattr(tournament, "campaign", None)
    if campaign is None or tournament.state not in Tournament.OVER:
        return ""
    if campaign.decided_at is None:
        return "no verdict yet"
    # Without an answer or a likeliest agent its statement is an error or a question.
    says_who = is_answered(campaign) or (
        campaign.probability is not None and campaign.question != IS_SPRT
    )
    return describe_answer(campaign) if says_who else "not decided"


def _read_certainty(tournament: Tournament) -> str:
    campaign = getattr(tournament, "campaign", None)
    return describe_certainty(campaign)[0] if campaign and is_answered(campaign) else ""


def describe_tournaments(tournaments: Sequence[Tournament]) -> list[ListedTournament]:
    """Return tournaments of `add_sizes` as the list shows them."""
    pairings, endings = dict(pairing_choices()), read_endings(tournaments)
    return [
        ListedTournament(
            tournament,
            game_title(tournament.leaderboard.game),
            pairings.get(tournament.pairing, tournament.pairing),
            vars(tournament)["n_agents"],
            endings.get(tournament.pk),
            _read_answer(tournament),
            _read_certainty(tournament),
        )
        for tournament in tournaments
    ]


def list_states() -> list[tuple[str, str]]:
    """Return the states of a tournament that a form offers."""
    states = [(name, str(label).lower()) for name, label in Tournament.State.choices]
    return [(OPEN, "not over yet"), *states]


def _make_table(address: ListAddress) -> Table:
    lines = walk_by_key(add_sizes(filter_tournaments(address)), _list_lines)
    return Table("tournaments", COLUMNS, lines)


def _list_lines(tournaments: Sequence[Tournament]) -> list[Line]:
    return [
        (
            *(row.pk, row.name, row.leaderboard.name, row.leaderboard.game, row.pairing),
            *(row.shown_state, vars(row)["n_agents"], row.n_matches, row.n_done, row.n_forfeits),
            *(row.n_void, row.n_cancelled, row.created_at, row.started_at, row.finished_at),
        )
        for row in tournaments
    ]


def _list_page(address: ListAddress) -> dict[str, Any]:
    page, following = cut_by_key(add_sizes(filter_tournaments(address)), address)
    return {"rows": describe_tournaments(page), "next": following}


def _describe_form(address: ListAddress) -> dict[str, Any]:
    choices = {
        "game": address.offer("game", game_choices()),
        "state": address.offer("state", list_states()),
        "pairing": address.offer("pairing", pairing_choices()),
    }
    return address.describe_form(choices, often=OFTEN)
