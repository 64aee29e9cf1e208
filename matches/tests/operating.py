"""A season, a schedule, a campaign and an alarm, as operators see them."""

from typing import Any

from django.utils import timezone

from matches.campaigns import scheduling
from matches.campaigns.starting import start_campaign
from matches.ledger import voiding
from matches.models import Alarm, Schedule, Tournament
from matches.plans import CampaignPlan
from matches.ratings import seasons
from matches.store.auditing import Actor

ANNA = Actor("anna")


def arranged(played: Tournament) -> dict[str, Any]:
    """Return the ids of a season, a schedule and more of the leaderboard of a tournament."""
    board = played.leaderboard
    season = seasons.freeze(board, "spring", actor=ANNA, now=timezone.now())
    schedule = scheduling.save_schedule(
        Schedule(name="nightly", leaderboard=board, crontab="0 4 * * *", n_matches=8),
        agents=[],
        actor=ANNA,
        now=timezone.now(),
    )
    return {"seasons": season.pk, "schedules": schedule.pk, **questioned(played)}


def questioned(played: Tournament) -> dict[str, int]:
    """Return the ids of a campaign and of an alarm of the leaderboard of a tournament."""
    agents = list(played.agents.order_by("pk")[:2])
    plan = CampaignPlan(name="is it worse", question="beats", max_matches=100)
    campaign = start_campaign(plan, leaderboard=played.leaderboard, agents=agents)
    alarm = Alarm.objects.create(
        agent=agents[1],
        ancestor=agents[0],
        campaign=campaign,
        probability=0.97,
        margin=1.0,
        level=0.95,
        at=timezone.now(),
    )
    return {"campaigns": campaign.pk, "alarms": alarm.pk}


def voided(tournament: Tournament) -> int:
    """Return the id of the last match of a tournament, which is void now."""
    match = tournament.matches.latest("pk").pk
    voiding.void_matches([match], actor=ANNA, reason="a stuck clock", now=timezone.now())
    return int(match)
