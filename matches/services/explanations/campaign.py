"""Why a campaign stands where it stands."""

from dataclasses import replace
from datetime import datetime

from matches.models import Campaign
from matches.services.campaigns import wording
from matches.services.explanations.form import Explanation, age_s, ago
from matches.services.explanations.tournament import of_tournament


def of_campaign(campaign: Campaign, *, now: datetime) -> Explanation:
    """Return what a campaign waits for and what happens next; what it found once it has ended.

    Its state is that of its tournament, or decided.
    """
    found = of_tournament(campaign.tournament, now=now)
    found = replace(found, subject="campaign", id=campaign.pk)
    if campaign.decided_at is None:
        return replace(found, waits_for=(*_rated_again(campaign), *found.waits_for))
    since = campaign.decided_at
    return replace(
        found,
        state="decided",
        since=since,
        age_s=age_s(since, now=now),
        summary=f"ended{ago(since, now=now)} after {campaign.n_played or 0:,} matches: "
        f"{campaign.statement[:1_000]}{_sure(campaign)}",
        waits_for=(),
        next="",
        next_at=None,
        notes=tuple(_notes(campaign)),
    )


def _rated_again(campaign: Campaign) -> list[str]:
    is_rerating = campaign.tournament.leaderboard.is_rerating
    return ["control to rate the leaderboard again: results were declared void"] * is_rerating


def _sure(campaign: Campaign) -> str:
    if campaign.probability is None or campaign.statement == campaign.why:
        return ""
    return f" (with {wording.percent(campaign.probability)}; {campaign.why})"


def _notes(campaign: Campaign) -> list[str]:
    known = [f"saved: {saved}"] if (saved := wording.saved(campaign)) else []
    if campaign.n_round_robin is None:
        return known
    needed = wording.rounded(campaign.n_round_robin)
    return [*known, f"a round robin from nothing would have needed about {needed} matches"]
