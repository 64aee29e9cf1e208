"""Campaigns in a terminal: what one will take, how far it is, how it ended."""

from collections.abc import Iterator
from typing import Any

from matches.campaigns import results, texts
from matches.campaigns.forecasting import Ahead
from matches.models import Campaign
from matches.plans import CampaignPlan
from matches.store.explanation import format_percent

ABOUT_BEST = ("best", "top_k")
"""Questions to which P(best) says something."""
N_NAMED = 5
"""Agents whose P(best) is printed with the verdict."""


def foreseen(plan: CampaignPlan, ahead: Ahead, *, n_agents: int) -> Iterator[str]:
    """Yield what a campaign would start from and take."""
    known = texts.describe_known(ahead.n_known, ahead.n_known_elsewhere)
    yield f"{plan.question} of {n_agents} agents, known of them: {known}"
    if ahead.margin:
        yield f"  a gap of {ahead.margin:.3g} in rating makes no difference"
    if ahead.warning:
        yield f"  {ahead.warning}"
    for label, says in texts.describe_forecast(ahead.forecast):
        yield f"  {label}: {says}"


def line(campaign: Campaign) -> str:
    """Return how far a campaign is, in one line."""
    tournament = campaign.tournament
    parts = [f"{tournament.n_done:,} of at most {campaign.max_matches:,} matches", *_sure(campaign)]
    left = campaign.forecast["matches"] if campaign.forecast else 0
    if campaign.decided_at is None and left:
        parts.append(f"about {texts.round_matches(left)} more")
    if tournament.state == tournament.State.PAUSED:
        parts.append("paused")
    return ", ".join(parts)


def verdict(campaign: Campaign) -> Iterator[str]:
    """Yield the verdict, how likely the first agents are the best, and what it has cost."""
    yield campaign.statement
    if campaign.probability is not None:
        yield f"  with {format_percent(campaign.probability)}; {texts.describe_end(campaign)}"
    is_about_best = campaign.question in ABOUT_BEST
    for agent, chance in results.list_chances(campaign)[: N_NAMED * is_about_best]:
        yield f"  P(best) {format_percent(chance)}: {agent.name}"
    yield f"  {campaign.n_played or 0:,} matches played"
    if saved := texts.describe_saved(campaign):
        yield f"  saved: {saved}"
    if campaign.n_round_robin is not None:
        needed = texts.round_matches(campaign.n_round_robin)
        yield f"  a round robin from nothing would have needed about {needed}"
    for label, says, _ in texts.describe_budget(campaign):
        yield f"  {label}: {says}"


def as_json(campaign: Campaign, exit_code: int) -> dict[str, Any]:
    """Return a campaign that has ended for programs."""
    tournament = campaign.tournament
    return {
        "campaign": campaign.pk,
        "tournament": tournament.pk,
        "leaderboard": tournament.leaderboard.name,
        "question": campaign.question,
        "error": campaign.error,
        "margin": campaign.margin,
        "parameters": results.name_parameters(campaign),
        "exit_code": exit_code,
        "statement": campaign.statement,
        "subjects": [agent.name for agent in results.list_subjects(campaign)],
        "probability": campaign.probability,
        "why": campaign.why,
        "decided_at": campaign.decided_at,
        "n_played": campaign.n_played,
        "n_known": campaign.n_known,
        "n_known_elsewhere": campaign.n_known_elsewhere,
        "n_reused": tournament.n_known,
        "n_round_robin": campaign.n_round_robin,
        "spent": results.sum_spent(campaign)._asdict(),
        "chances": {agent.name: chance for agent, chance in results.list_chances(campaign)},
    }


def _sure(campaign: Campaign) -> list[str]:
    if campaign.question in ABOUT_BEST:
        likely = results.list_chances(campaign)[:1]
        return [f"P(best) {format_percent(chance)}: {agent.name}" for agent, chance in likely]
    newest = campaign.points.order_by("-n_results").first()
    if newest is None:
        return []
    if newest.llr is not None:
        return [f"LLR {newest.llr:+.2f}"]
    return [f"the likeliest answer is true with {format_percent(newest.probability)}"]
