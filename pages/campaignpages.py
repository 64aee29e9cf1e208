"""Campaigns on the pages: the question, how sure its answer is, what it costs, how it ended."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import conditional_page, require_safe

from arena.verdicts.paired_blocks import POINTS
from matches.board import progress
from matches.campaigns import endings, results, texts
from matches.campaigns.paired_blocks import GAMES_OF_BLOCK
from matches.campaigns.starting import IS_SPRT, NAMED
from matches.ledger import pairing_warnings
from matches.models import Agent, Alarm, Campaign, Entrant
from matches.operations import explain
from matches.ratings.closed_prefix import find_waiting_results
from matches.store.clock import db_now
from matches.store.fast_store import get_or_make
from matches.store.formats import format_count, format_percent
from pages import campaign_verdicts
from pages.plots import campaign_curve

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


class Rank(NamedTuple):
    """An agent of the likeliest order, and P(it is better than the next); empty for the last."""

    agent: Agent
    says: str
    percent: float


class Blocks(NamedTuple):
    """How many blocks gave the first agent so many points, and what that says.

    covers: how many games that is, of the results that were judged.
    """

    first: Agent
    covers: str
    cells: list[texts.LabelledText]
    lines: list[texts.LabelledText]


class ListedCampaign(NamedTuple):
    """A campaign of a list: where it stands, in a line."""

    campaign: Campaign
    asked: str
    says: str
    is_open: bool
    standing: campaign_verdicts.Standing

    @property
    def state(self) -> str:
        """Where it stands, in a word or a few."""
        return campaign_verdicts.describe_state(self.campaign)

    @property
    def name(self) -> str:
        """What somebody called it; empty where its name is only the id of its question."""
        name: str = self.campaign.tournament.name
        return "" if name == self.campaign.question else name


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
    names = campaign_verdicts.read_names([campaign])[tournament.pk]
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
        "says": campaign_verdicts.describe_verdict(campaign, names),
        "probability": campaign_verdicts.format_chance(campaign),
        "statement": campaign.statement if endings.has_statement(campaign) else "",
        "shortfall": endings.describe_shortfall(campaign),
        "subjects": [subjects[pk] for pk in campaign.subjects[:N_CHANCES]],
        "saved": texts.describe_saved(campaign),
        "judged": campaign_verdicts.describe_judged(campaign),
        "waits": texts.describe_waiting(waits) if waits else "",
        "undecided": "" if campaign.decided_at else campaign_verdicts.explain_undecided(campaign),
        "asked_for": format_percent(1 - campaign.error),
        "chances": _rank_chances(campaign),
        "is_about_two": len(campaign.chances) > len(NAMED)
        and all(name in tournament.pairing_parameters for name in NAMED),
        "ranks": _list_ranks(campaign),
        "upsets": results.list_upsets(campaign),
        "curve": campaign_curve.draw_campaign(campaign),
        "forecast": texts.describe_forecast(foreseen, campaign.max_matches - tournament.n_done),
        "round_robin": texts.describe_number(needed) if (needed := campaign.n_round_robin) else "",
        "budget": texts.describe_budget(campaign),
        "bounds": texts.describe_bounds(campaign),
        "is_test": campaign.question == IS_SPRT,
        "pairs": _count_blocks(campaign),
        "warnings": list(
            filter(
                None,
                (texts.warn_of_budget(campaign), pairing_warnings.warn_of_pairing(tournament)),
            )
        ),
        "stop": f"{stop}?pk={campaign.pk}&from=row" if stop else "",
        "shown": progress.describe_tournament(tournament, now=now),
        "explanation": explain.of_tournament(tournament, now=now),
    }


def list_newest(**filters: Any) -> list[ListedCampaign]:
    """Return the campaigns under way, then the newest verdicts: three queries."""
    chosen = Campaign.objects.filter(tournament__leaderboard__is_rated=True, **filters)
    newest = chosen.select_related("tournament__leaderboard").order_by("-pk")
    # Two queries: what runs is found by the index of open campaigns, however many have ended.
    under_way, ended = newest.filter(decided_at=None), newest.exclude(decided_at=None)
    return list_campaigns([*under_way[:N_LISTED], *ended[:N_LISTED]])


def list_campaigns(campaigns: Sequence[Campaign]) -> list[ListedCampaign]:
    """Return campaigns as a list shows them, in one query more."""
    names = campaign_verdicts.read_names(campaigns)
    return [
        ListedCampaign(
            campaign,
            texts.describe_question(campaign, names[campaign.tournament_id]),
            campaign_verdicts.describe_standing(campaign, names[campaign.tournament_id]),
            campaign.decided_at is None,
            campaign_verdicts.read_standing(campaign, names[campaign.tournament_id]),
        )
        for campaign in campaigns
    ]


def list_open_alarms(**filters: Any) -> list[OpenAlarm]:
    """Return the newest alarms that nobody has looked at."""
    alarms = Alarm.objects.filter(acknowledged_at=None, **filters).order_by("-pk")
    related = alarms.select_related("agent", "ancestor", "campaign__tournament__leaderboard")
    return [OpenAlarm(alarm, format_percent(alarm.probability)) for alarm in related[:N_ALARMS]]


def _rank_chances(campaign: Campaign) -> list[Chance]:
    """Return the agents that may be the best, the likeliest first."""
    ranked = sorted(enumerate(campaign.chances), key=lambda chance: -chance[1])[:N_CHANCES]
    likely = {position: chance for position, chance in ranked if chance > 0}
    entered = Entrant.objects.filter(tournament=campaign.tournament_id, position__in=likely)
    agents = {entrant.position: entrant.agent for entrant in entered.select_related("agent")}
    return [
        Chance(agents[position], format_percent(chance), round(100 * chance, 2))
        for position, chance in likely.items()
    ]


def _list_ranks(campaign: Campaign) -> list[Rank]:
    """Return the likeliest order; nothing for a question that ranks nobody."""
    return [
        Rank(
            ranked.agent,
            "" if ranked.p_above_next is None else format_percent(ranked.p_above_next),
            round(100 * (ranked.p_above_next or 0), 2),
        )
        for ranked in results.list_ranking(campaign)
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
    n_blocks = sum(result.blocks)
    n_games, n_judged = GAMES_OF_BLOCK * n_blocks, campaign.n_judged
    covers = f"{format_count(n_blocks, 'block')} of two games: "
    if n_games == n_judged:
        covers += f"all {n_judged:,} results judged."
    else:
        covers += f"{n_games:,} of the {n_judged:,} results judged. Only whole blocks count."
    mean, *others = texts.describe_blocks(result)
    # The standings below have a share of points, too: that of fewer matches.
    mean = mean._replace(label=f"Mean score of {first.agent} in these blocks")
    return Blocks(first.agent, covers, cells, [mean, *others])
