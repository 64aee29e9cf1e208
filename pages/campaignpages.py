"""Campaigns on the pages: the question, how sure its answer is, what it costs, how it ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

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
EVERY_S = 1.0
"""A campaign that runs is looked at so often, by however many viewers."""


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
def campaign(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the part of a tournament's page that moves while its campaign runs."""
    del request
    asked = Campaign.objects.select_related("tournament__leaderboard")
    found = get_object_or_404(asked, tournament=pk)
    return HttpResponse(drawn(found, now=db_now()))


def drawn(found: Campaign, *, now: datetime) -> SafeString:
    """Return that part as HTML: made once a second for all who look, and at once when it ends."""

    def make() -> str:
        return render_to_string("pages/_campaign.html", context(found, now=now))

    mark = f"{now.timestamp():.0f} {found.n_judged} {found.decided_at}"
    state = "runs" if found.decided_at is None else "ended"
    html = get_or_make(f"campaign.{found.pk}.{state}", mark, make, form=str, every_s=EVERY_S)
    return mark_safe(html)  # a template made it; players cannot write the cache


def context(found: Campaign, *, now: datetime) -> dict[str, Any]:
    """Return what the template shows of a campaign: a bounded number of bounded queries."""
    tournament, board = found.tournament, found.tournament.leaderboard
    foreseen = None if found.decided_at else found.forecast
    return {
        "campaign": found,
        "tournament": tournament,
        "board": board,
        "asked": _asked(found),
        "terms": texts.describe_terms(found),
        "why": texts.describe_end(found),
        "says": _says(found),
        "probability": _probability(found),
        "subjects": _subjects(found),
        "saved": texts.describe_saved(found),
        "waits": _planned_earlier(found),
        "wanted": format_percent(1 - found.error),
        "chances": _chances(found),
        "curve": campaign_curve.draw_campaign(found),
        "forecast": texts.describe_forecast(foreseen),
        "budget": texts.describe_budget(found),
        "is_test": found.question == IS_SPRT,
        "pairs": _pairs(found),
        "warning": pairing_warnings.warn_of_pairing(tournament),
        "stop": _stop_address(found),
        "shown": standings.describe_tournament(tournament, now=now),
        "explanation": explain.of_tournament(tournament, now=now),
    }


def _planned_earlier(found: Campaign) -> str:
    """Return what the verdict waits for though results are there; empty where it does not."""
    waits = None if found.decided_at else find_waiting_results(found.tournament)
    return "" if waits is None else texts.describe_waiting(waits)


def listed(campaigns: Sequence[Campaign]) -> list[Listed]:
    """Return campaigns as a list shows them. Two queries for each."""
    return [Listed(one, _asked(one), _standing(one), one.decided_at is None) for one in campaigns]


def newest(**of: Any) -> list[Listed]:
    """Return the campaigns under way, then the newest verdicts; of: what they are chosen by."""
    chosen = Campaign.objects.filter(tournament__leaderboard__is_listed=True, **of)
    whole = chosen.select_related("tournament__leaderboard")
    under_way = whole.filter(decided_at=None).order_by("-pk")[:N_LISTED]
    ended = whole.exclude(decided_at=None).order_by("-pk")[:N_LISTED]
    return listed([*under_way, *ended])


def open_alarms(**of: Any) -> list[OpenAlarm]:
    """Return the newest alarms that nobody has looked at, chosen by of."""
    waiting = Alarm.objects.filter(acknowledged_at=None, **of).order_by("-pk")
    related = waiting.select_related("agent", "ancestor", "campaign__tournament__leaderboard")
    return [OpenAlarm(alarm, format_percent(alarm.probability)) for alarm in related[:N_ALARMS]]


def _asked(found: Campaign) -> str:
    wanted = _positions(found)
    entered = Entrant.objects.filter(tournament=found.tournament_id, position__in=wanted)
    names = dict(entered.values_list("position", "agent__name")) if wanted else {}
    return texts.describe_question(found, _ByPosition(names))


def _positions(found: Campaign) -> list[int]:
    """Return which entrants the question names."""
    if found.question == IS_SPRT:
        return [0, 1]
    return [found.parameters[name] for name in ("a", "b") if name in found.parameters]


class _ByPosition(Sequence[str]):
    """Names of some positions, as a sequence of all."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names

    def __getitem__(self, position: Any) -> Any:
        return self._names[position]

    def __len__(self) -> int:
        return len(self._names)


def _says(found: Campaign) -> str:
    """Return the verdict, or what would be said now."""
    if found.statement and found.statement != found.why:
        return found.statement
    likely = _chances(found)[:1]
    if found.question == "best" and likely:
        so_far = "" if found.decided_at else " so far"
        return f"Most likely{so_far}: {likely[0].agent}"
    return "Not decided" if found.decided_at else "Not decided yet"


def _subjects(found: Campaign) -> list[Agent]:
    """Return the agents that the verdict names, in its order."""
    named = Agent.objects.in_bulk(found.subjects[:N_CHANCES])
    return [named[pk] for pk in found.subjects[:N_CHANCES]]


def _probability(found: Campaign) -> str:
    if found.probability is None:
        return ""
    if found.question == IS_SPRT and not found.decided_at:
        return ""
    return format_percent(found.probability)


def _standing(found: Campaign) -> str:
    if found.decided_at:
        chance = _probability(found)
        return f"{_says(found)}{f' ({chance})' if chance else ''}"
    played = f"{found.tournament.n_done:,} of at most {found.max_matches:,} matches played"
    if not found.n_judged:
        return played
    if found.question == IS_SPRT or found.probability is None:
        return f"{played}, {found.n_judged:,} results judged"
    return f"{played}, the likeliest answer is true with {format_percent(found.probability)}"


def _chances(found: Campaign) -> list[Chance]:
    """Return the agents that may be the best, the likeliest first."""
    ranked = sorted(enumerate(found.chances), key=lambda item: -item[1])[:N_CHANCES]
    likely = [(position, chance) for position, chance in ranked if chance > 0]
    entered = Entrant.objects.filter(
        tournament=found.tournament_id, position__in=[position for position, _ in likely]
    ).select_related("agent")
    agents = {entrant.position: entrant.agent for entrant in entered}
    return [
        Chance(agents[position], format_percent(chance), round(100 * chance, 2))
        for position, chance in likely
    ]


def _pairs(found: Campaign) -> Blocks | None:
    """Return the blocks of a sequential test; None before its first."""
    said = results.read_pairs(found)
    if said is None:
        return None
    first = Entrant.objects.select_related("agent").get(tournament=found.tournament_id, position=0)
    counts = zip(POINTS, said.blocks, strict=True)
    cells = [texts.LabelledText(label, f"{n:,}") for label, n in counts]
    return Blocks(first.agent, cells, texts.describe_blocks(said))


def _stop_address(found: Campaign) -> str:
    """Return where an operator is asked about stopping it; empty once it has ended."""
    if found.decided_at:
        return ""
    asking = reverse("admin:matches_campaign_ask", args=["stop"])
    return f"{asking}?pk={found.pk}&from=row"
