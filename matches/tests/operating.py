"""A season and a schedule, as operators make them."""

from typing import Any

from django.utils import timezone

from matches.models import Schedule, Tournament
from matches.services import scheduling, seasons, voiding
from matches.services.auditing import Actor

ANNA = Actor("anna")


def arranged(played: Tournament) -> dict[str, Any]:
    """Return the ids of a season and a schedule of the leaderboard of a tournament."""
    board = played.leaderboard
    season = seasons.freeze(board, "spring", actor=ANNA, now=timezone.now())
    schedule = scheduling.save(
        Schedule(name="nightly", leaderboard=board, crontab="0 4 * * *", n_matches=8),
        agents=[],
        actor=ANNA,
        now=timezone.now(),
    )
    return {"seasons": season.pk, "schedules": schedule.pk}


def voided(tournament: Tournament) -> int:
    """Return the id of the last match of a tournament, which is void now."""
    match = tournament.matches.latest("pk").pk
    voiding.void([match], actor=ANNA, reason="a stuck clock", now=timezone.now())
    return int(match)
