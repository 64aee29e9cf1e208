"""Campaigns on the pages: the question, how sure its answer is, what it costs, how it ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import conditional_page, require_safe

from arena.verdicts.paired_blocks import POINTS
from matches.campaigns import results, texts
from matches.campaigns.starting import IS_SPRT
from matches.ledger import pairing_warnings
from matches.models import Agent, Alarm, Campaign, Entrant
from matches.operations import explain
from matches.ratings import standings
from matches.ratings.closed_prefix import find_waiting_results
from matches.store.clock import db_now
from matches.store.explanation import format_percent
from matches.store.fast_store import get_or_make
from pages import campaign_curve

N_CHANCES = 20
N_LISTED = 8
N_ALARMS = 10
# A campaign that runs is looked at so often, by however many viewers.
EVERY_S = 1.0


class Chance(NamedTuple):
    """An agent and the probability that it is the best; percent is the length of its bar."""

    agent: Agent
    said: str
    percent: float


class Blocks(NamedTuple):
    """How many blocks gave the first agent so many points, and what that says."""

    first: Agent
    cells: list[texts.LabelledText]
    lines: list[texts.LabelledText]


class Listed(NamedTuple):
    """A campaign of a list: where it stands, in a line."""

    campaign: Campaign
    asked: str
    says: str
    is_open: bool


class OpenAlarm(NamedTuple):
    """An alarm, and its probability in words."""

    alarm: Alarm
    said: str


@require_safe
@conditional_page
def show_campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the part of a tournament's page that moves while its campaign runs."""
    del request
    campaigns = Campaign.objects.select_related("tournament__leaderboard")
    campaign = get_object_or_404(campaigns, tournament=pk)
    return HttpResponse(render_campaign(campaign, now=db_now()))


def render_campaign(campaign: Campaign, *, now: datetime) -> SafeString:
    """Return that part as HTML: made once a second for all who look, and at once when it ends."""

    def make() -> str:
        return render_to_string("pages/_campaign.html", describe_campaign(campaign, now=now))

    mark = f"{now.timestamp():.0f} {campaign.n_judged} {campaign.decided_at}"
    # A key of its own once it has ended: nobody waits EVERY_S to see the verdict.
    state = "runs" if campaign.decided_at is None else "ended"
    html = get_or_make(f"campaign.{campaign.pk}.{state}", mark, make, form=str, every_s=EVERY_S)
    return mark_safe(html)  # a template made it; players cannot write the cache


def describe_campaign(campaign: Campaign, *, now: datetime) -> dict[str, Any]:
    """Return what the template shows of a campaign: a bounded number of bounded queries."""
    tournament, board = campaign.tournament, campaign.tournament.leaderboard
    names = _read_names([campaign])[tournament.pk]
    waits = stop = foreseen = None
    if not campaign.decided_at:
        foreseen = campaign.forecast
        # The verdict may wait for matches planned earlier though results are there.
        waits = find_waiting_results(tournament)
        stop = reverse("admin:matches_campaign_ask", args=["stop"])
    subjects = Agent.objects.in_bulk(campaign.subjects[:N_CHANCES])
    return {
        "campaign": campaign,
        "tournament": tournament,
        "board": board,
        "asked": texts.describe_question(campaign, names),
        "terms": texts.describe_terms(campaign),
        "why": texts.describe_end(campaign),
        "says": _describe_verdict(campaign, names),
        "probability": _format_probability(campaign),
        "was_stopped": _was_stopped(campaign),
        "subjects": [subjects[pk] for pk in campaign.subjects[:N_CHANCES]],
        "saved": texts.describe_saved(campaign),
        "waits": texts.describe_waiting(waits) if waits else "",
        "wanted": format_percent(1 - campaign.error),
        "chances": _rank_chances(campaign),
        "curve": campaign_curve.draw_campaign(campaign),
        "forecast": texts.describe_forecast(foreseen),
        "budget": texts.describe_budget(campaign),
        "is_test": campaign.question == IS_SPRT,
        "pairs": _count_blocks(campaign),
        "warning": texts.warn_of_forecast(foreseen, campaign.max_matches - tournament.n_done)
        or pairing_warnings.warn_of_pairing(tournament),
        "stop": f"{stop}?pk={campaign.pk}&from=row" if stop else "",
        "shown": standings.describe_tournament(tournament, now=now),
        "explanation": explain.of_tournament(tournament, now=now),
    }


def list_newest(**filters: Any) -> list[Listed]:
    """Return the campaigns under way, then the newest verdicts: three queries."""
    chosen = Campaign.objects.filter(tournament__leaderboard__is_rated=True, **filters)
    newest = chosen.select_related("tournament__leaderboard").order_by("-pk")
    # Two queries: what runs is found by the index of open campaigns, however many have ended.
    under_way, ended = newest.filter(decided_at=None), newest.exclude(decided_at=None)
    return list_campaigns([*under_way[:N_LISTED], *ended[:N_LISTED]])


def list_campaigns(campaigns: Sequence[Campaign]) -> list[Listed]:
    """Return campaigns as a list shows them, in one query more."""
    names = _read_names(campaigns)
    return [
        Listed(
            campaign,
            texts.describe_question(campaign, names[campaign.tournament_id]),
            _describe_standing(campaign, names[campaign.tournament_id]),
            campaign.decided_at is None,
        )
        for campaign in campaigns
    ]


def list_open_alarms(**filters: Any) -> list[OpenAlarm]:
    """Return the newest alarms that nobody has looked at."""
    alarms = Alarm.objects.filter(acknowledged_at=None, **filters).order_by("-pk")
    related = alarms.select_related("agent", "ancestor", "campaign__tournament__leaderboard")
    return [OpenAlarm(alarm, format_percent(alarm.probability)) for alarm in related[:N_ALARMS]]


def _read_names(campaigns: Sequence[Campaign]) -> dict[int, dict[int, str]]:
    """Return the names that the lines of campaigns need, by tournament and position: one query."""
    # Only the entrants that a line names: a campaign may have thousands.
    places = {campaign.tournament_id: _list_positions(campaign) for campaign in campaigns}
    named = Q(pk=None)
    for tournament, positions in places.items():
        named |= Q(tournament=tournament, position__in=positions)
    names: dict[int, dict[int, str]] = {tournament: {} for tournament in places}
    entered = Entrant.objects.filter(named) if any(places.values()) else Entrant.objects.none()
    for tournament, place, name in entered.values_list("tournament", "position", "agent__name"):
        names[tournament][place] = name
    return names


def _list_positions(campaign: Campaign) -> list[int]:
    """Return the positions of the entrants that its question names, and of the likeliest best."""
    if campaign.question == IS_SPRT:
        return [0, 1]
    asked = [campaign.parameters[name] for name in "ab" if name in campaign.parameters]
    return [*asked, *_find_likeliest(campaign)]


def _find_likeliest(campaign: Campaign) -> list[int]:
    """Return the position of the agent that is most likely the best; none without a chance."""
    chances = campaign.chances
    likeliest = max(range(len(chances)), key=chances.__getitem__, default=0)
    return [likeliest] if chances and chances[likeliest] > 0 else []


def _describe_verdict(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the verdict, or what would be said now. names: of the likeliest best, by position."""
    # Where there is no verdict, the statement repeats why it ended, which has its own line.
    if campaign.statement and campaign.statement != campaign.why:
        return campaign.statement
    likely = _find_likeliest(campaign)
    if campaign.question == "best" and likely:
        so_far = "" if campaign.decided_at else " so far"
        return f"Most likely{so_far}: {names[likely[0]]}"
    return "Not decided" if campaign.decided_at else "Not decided yet"


def _format_probability(campaign: Campaign) -> str:
    if campaign.probability is None:
        return ""
    # A sequential test has a ratio while it runs; its probability is that of the verdict.
    if campaign.question == IS_SPRT and not campaign.decided_at:
        return ""
    return format_percent(campaign.probability)


def _was_stopped(campaign: Campaign) -> bool:
    """Return whether a person ended it before a verdict."""
    return campaign.why == "cancelled"


def _describe_standing(campaign: Campaign, names: Mapping[int, str]) -> str:
    chance = _format_probability(campaign)
    if campaign.decided_at:
        # Of a stopped one the chance of the likeliest answer would read as that of a verdict.
        in_brackets = f" ({chance})" if chance and not _was_stopped(campaign) else ""
        return f"{_describe_verdict(campaign, names)}{in_brackets}"
    n_done = campaign.tournament.n_done
    played = f"{n_done:,} of at most {campaign.max_matches:,} matches played"
    if not campaign.n_judged:
        return played
    if not chance:
        return f"{played}, {campaign.n_judged:,} results judged"
    return f"{played}, the likeliest answer is true with {chance}"


def _rank_chances(campaign: Campaign) -> list[Chance]:
    """Return the agents that may be the best, the likeliest first."""
    ranked = sorted(enumerate(campaign.chances), key=lambda item: -item[1])[:N_CHANCES]
    likely = {position: chance for position, chance in ranked if chance > 0}
    entered = Entrant.objects.filter(tournament=campaign.tournament_id, position__in=likely)
    agents = {entrant.position: entrant.agent for entrant in entered.select_related("agent")}
    return [
        Chance(agents[position], format_percent(chance), round(100 * chance, 2))
        for position, chance in likely.items()
    ]


def _count_blocks(campaign: Campaign) -> Blocks | None:
    """Return the blocks of a sequential test; None before its first."""
    result = results.read_pairs(campaign)
    if result is None:
        return None
    first = Entrant.objects.select_related("agent").get(
        tournament=campaign.tournament_id, position=0
    )
    counts = zip(POINTS, result.blocks, strict=True)
    cells = [texts.LabelledText(label, f"{n:,}") for label, n in counts]
    return Blocks(first.agent, cells, texts.describe_blocks(result))
