"""Why a campaign stands where it stands."""

from dataclasses import replace
from datetime import datetime

from matches.campaigns import endings, texts
from matches.models import Agent, Campaign
from matches.operations.explanations.tournament import of_tournament
from matches.ratings.closed_prefix import find_waiting_results
from matches.store.explanation import Explanation
from matches.store.formats import age_s, format_ago, format_percent


def of_campaign(campaign: Campaign, *, now: datetime) -> Explanation:
    """Return what a campaign waits for and what happens next; what it found once it has ended.

    Its state is that of its tournament, or decided.
    """
    explanation = of_tournament(campaign.tournament, now=now)
    explanation = replace(explanation, subject="campaign", id=campaign.pk)
    if campaign.decided_at is None:
        # Judged by the ratings: not before they are computed anew without what is void.
        waits_for = [
            "control to rate the leaderboard again: results were declared void"
        ] * campaign.tournament.leaderboard.is_rerating
        waits_for += [*_list_earlier_results(campaign), *explanation.waits_for]
        return replace(explanation, waits_for=tuple(waits_for))
    since, sure = campaign.decided_at, ""
    if campaign.probability is not None and endings.is_answered(campaign):
        sure = f" (with {format_percent(campaign.probability)}; {campaign.why})"
    return replace(
        explanation,
        state="decided",
        since=since,
        age_s=age_s(since, now=now),
        summary=f"ended{format_ago(since, now=now)} after {campaign.n_played or 0:,} matches: "
        f"{endings.describe_answer(campaign)[:1_000]}{sure}",
        waits_for=(),
        next="",
        next_at=None,
        notes=tuple(_list_notes(campaign)),
    )


def _list_earlier_results(campaign: Campaign) -> list[str]:
    """Return what is still to end before the results behind it count, and why it has not."""
    waits = find_waiting_results(campaign.tournament)
    if waits is None:
        return []
    quarantined = Agent.objects.filter(pk__in=waits.match.agent_ids, quarantined_at__isnull=False)
    names = ", ".join(quarantined.order_by("pk").values_list("name", flat=True))
    why = f"; the first of them is of {names}, which is in quarantine" if names else ""
    return [f"{texts.describe_waiting(waits)}{why}"]


def _list_notes(campaign: Campaign) -> list[str]:
    notes = [endings.describe_shortfall(campaign)] * (not endings.is_answered(campaign))
    if saved := texts.describe_saved(campaign):
        notes.append(f"saved: {saved}")
    if campaign.n_round_robin is None:
        return notes
    needed = texts.describe_number(campaign.n_round_robin)
    return [*notes, f"a round robin from nothing would have needed {needed} matches"]
