"""What campaigns say on pages, in a line: the verdict, or what would be said now."""

from collections.abc import Mapping, Sequence

from django.db.models import Q

from matches.campaigns import endings, results
from matches.campaigns.starting import IS_SPRT
from matches.models import Campaign, Entrant
from matches.store.formats import format_percent

N_NAMED = 6
"""Agents of a likeliest order that are named in a line."""


def read_names(campaigns: Sequence[Campaign]) -> dict[int, dict[int, str]]:
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


def describe_verdict(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the verdict, or what would be said now. names: of the likeliest best, by position."""
    if campaign.question == IS_SPRT:
        return endings.grade_test(campaign, results.read_pairs(campaign))
    if endings.has_statement(campaign):
        return endings.describe_answer(campaign)
    likely = _name_likeliest(campaign, names)
    if campaign.decided_at is None:
        return f"Most likely so far: {likely}" if likely else "Not decided yet"
    return f"Not decided. Most likely: {likely}" if likely else "Not decided"


def describe_standing(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the verdict and how sure it is; of one that runs, how far it is."""
    chance = format_chance(campaign)
    if campaign.decided_at:
        verdict = describe_verdict(campaign, names)
        if campaign.question == IS_SPRT and endings.has_statement(campaign):
            verdict = f"{verdict}; {campaign.statement}"
        # Without an answer the chance of the likeliest one would read as that of a verdict.
        return f"{verdict} ({chance})" if chance and endings.is_answered(campaign) else verdict
    played = f"{campaign.tournament.n_done:,} of at most {campaign.max_matches:,} matches played"
    if not campaign.n_judged:
        return f"Not decided yet: {played}"
    if not chance:
        return f"Not decided yet: {played}, {campaign.n_judged:,} results judged"
    return f"{describe_verdict(campaign, names)} ({chance}); {played}"


def format_chance(campaign: Campaign) -> str:
    """Return the probability of the likeliest answer; empty while there is none."""
    # A sequential test has a ratio while it runs; its probability is that of the verdict.
    if campaign.probability is None or (
        campaign.question == IS_SPRT and not endings.is_answered(campaign)
    ):
        return ""
    return format_percent(campaign.probability)


def _name_likeliest(campaign: Campaign, names: Mapping[int, str]) -> str:
    """Return the likeliest answer of a question about the best or about the order."""
    ranking = campaign.ranking or ()
    if ranking:
        ranked = [names[position] for position, _ in ranking[:N_NAMED]]
        return " > ".join([*ranked, *["…"] * (len(ranking) > N_NAMED)])
    likely = _find_likeliest(campaign) if campaign.question == "best" else []
    return "".join(names[position] for position in likely)


def _list_positions(campaign: Campaign) -> list[int]:
    """Return the positions of the entrants that its question names, and of the likeliest best."""
    if campaign.question == IS_SPRT:
        return [0, 1]
    asked = [campaign.parameters[name] for name in "ab" if name in campaign.parameters]
    ranked = [position for position, _ in (campaign.ranking or ())[:N_NAMED]]
    return [*asked, *ranked, *_find_likeliest(campaign)]


def _find_likeliest(campaign: Campaign) -> list[int]:
    """Return the position of the agent that is most likely the best; none without a chance."""
    chances = campaign.chances
    likeliest = max(range(len(chances)), key=chances.__getitem__, default=0)
    return [likeliest] if chances and chances[likeliest] > 0 else []
