"""The list of campaigns: what was asked, and what the answer is."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from arena.verdicts.base import StopReason
from matches.campaigns.endings import ANSWERED
from matches.models import Campaign, Entrant, Tournament
from matches.models.choices import game_choices, question_choices
from matches.store.catalog import game_title
from pages.campaign_verdicts import Standing
from pages.campaignpages import list_campaigns
from pages.downloads.files import Column, Line, Table
from pages.lists.address import ListAddress, find_agents
from pages.lists.showing import cut_by_key, filter_days, show_list, walk_by_key

NAMES = ("q", "game", "state", "question", "agent", "leaderboard", "from", "to")
OFTEN = ("q", "game", "state", "question")
LABELS = {"q": "Name has", "from": "Made from", "to": "Made until"}
STATES = {
    "open": "not over yet",
    "answered": "answered",
    "budget": "ended by its budget",
    "stopped": "stopped without an answer",
}
# Their entrants are read by a condition each; SQLite takes a thousand.
CAMPAIGNS_A_PIECE = 200
# With what was spent behind it, as in "out_of_budget: matches".
_OVER_BUDGET = StopReason.OUT_OF_BUDGET.value

COLUMNS = (
    Column("tournament", int),
    Column("name", str),
    Column("leaderboard", str),
    Column("game", str),
    Column("question", str),
    Column("asked", str),
    Column("says", str),
    Column("state", str),
    Column("why", str),
    Column("probability", float),
    Column("n_judged", int),
    Column("n_matches", int),
    Column("n_done", int),
    Column("created_at", datetime),
    Column("decided_at", datetime),
)


class ListedCampaign(NamedTuple):
    """A campaign of the list: its question, what is known of the answer, where it stands.

    name: empty where it only repeats the question.
    """

    campaign: Campaign
    tournament: Tournament
    game: str
    asked: str
    name: str
    says: str
    state: str
    standing: Standing


@require_safe
def show_campaigns(request: HttpRequest) -> HttpResponseBase:
    """List the campaigns that the address asks for, the newest first."""
    address = ListAddress(request.GET, "campaigns", NAMES, labels=LABELS)
    return show_list(
        request,
        "pages/campaigns.html",
        _describe_form(address),
        lambda: _list_page(address),
        lambda: _make_table(address),
    )


def filter_campaigns(address: ListAddress) -> QuerySet[Campaign]:
    """Return the campaigns that an address asks for. Raises BadAddressError."""
    campaigns = _filter_state(address.read_one_of("state", [*STATES]))
    if text := address.read_text("q"):
        campaigns = campaigns.filter(tournament__name__icontains=text)
    game = address.read_one_of("game", [name for name, _ in game_choices()])
    if game:
        campaigns = campaigns.filter(tournament__leaderboard__game=game)
    if question := address.read_text("question"):
        campaigns = campaigns.filter(question=question)
    if agents := find_agents(address.read_texts("agent")[:1], game):
        entered = Entrant.objects.filter(agent=agents[0]).order_by()
        campaigns = campaigns.filter(tournament__in=entered.values("tournament"))
    if board := address.read_leaderboard():
        campaigns = campaigns.filter(tournament__leaderboard=board)
    related = campaigns.select_related("tournament__leaderboard")
    return filter_days(related, address, "tournament__created_at")


def describe_campaigns(campaigns: Sequence[Campaign]) -> list[ListedCampaign]:
    """Return campaigns as the list shows them: one query for all of them."""
    return [
        ListedCampaign(
            listed.campaign,
            listed.campaign.tournament,
            game_title(listed.campaign.tournament.leaderboard.game),
            listed.asked,
            listed.name,
            listed.says,
            listed.state,
            listed.standing,
        )
        for listed in list_campaigns(campaigns)
    ]


def _filter_state(state: str) -> QuerySet[Campaign]:
    if not state:
        return Campaign.objects.all()
    if state == "open":
        return Campaign.objects.filter(decided_at=None)
    ended = Campaign.objects.filter(decided_at__isnull=False)
    if state == "answered":
        return ended.filter(why__in=ANSWERED)
    if state == "budget":
        return ended.filter(why__startswith=_OVER_BUDGET)
    return ended.exclude(why__in=ANSWERED).exclude(why__startswith=_OVER_BUDGET)


def _make_table(address: ListAddress) -> Table:
    return Table(
        "campaigns",
        COLUMNS,
        walk_by_key(filter_campaigns(address), _list_lines, at_once=CAMPAIGNS_A_PIECE),
    )


def _list_lines(campaigns: Sequence[Campaign]) -> list[Line]:
    return [
        (
            *(listed.tournament.pk, listed.tournament.name, listed.tournament.leaderboard.name),
            *(
                listed.tournament.leaderboard.game,
                listed.campaign.question,
                listed.asked,
                listed.says,
            ),
            *(listed.state, listed.campaign.why or None, listed.campaign.probability),
            *(listed.campaign.n_judged, listed.tournament.n_matches, listed.tournament.n_done),
            *(listed.tournament.created_at, listed.campaign.decided_at),
        )
        for listed in describe_campaigns(campaigns)
    ]


def _list_page(address: ListAddress) -> dict[str, Any]:
    page, following = cut_by_key(filter_campaigns(address), address)
    return {"rows": describe_campaigns(page), "next": following}


def _describe_form(address: ListAddress) -> dict[str, Any]:
    choices = {
        "game": address.offer("game", game_choices()),
        "state": address.offer("state", [*STATES.items()]),
        "question": address.offer("question", question_choices()),
    }
    return address.describe_form(choices, often=OFTEN)
