"""A schedule that is due at every full hour, for tests."""

from datetime import datetime
from typing import Any

from matches.artifacts.agents import register_spelled_agent
from matches.campaigns import scheduling
from matches.ledger.tournaments import open_leaderboard
from matches.models import Agent, Leaderboard, Schedule
from matches.operations import explain
from matches.store.auditing import Actor
from matches.tests import factories as make

ANNA = Actor("anna")
HOUR = 3_600


def open_hourly_board() -> Leaderboard:
    board = Leaderboard.objects.filter(name="board").first()
    return board or open_leaderboard("board", game="skill_game")


def register_levels() -> list[Agent]:
    return [register_spelled_agent(text, game="skill_game") for text in make.LEVELS]


def save_hourly(agents: list[Agent] | None = None, **options: Any) -> Schedule:
    """Return one that is due at every full hour; it is half past eleven, NOW is twelve."""
    values = {"name": "hourly", "crontab": "0 * * * *", "n_matches": 6, **options}
    return scheduling.save_schedule(
        Schedule(leaderboard=open_hourly_board(), **values),
        agents=register_levels() if agents is None else agents,
        actor=ANNA,
        now=make.later(-HOUR / 2),
    )


def start_due(schedule: Schedule, *, hours: float = 0) -> Any:
    return scheduling.start_due(schedule.pk, now=make.later(hours * HOUR + 3))


def explain_schedule(schedule: Schedule, now: datetime) -> explain.Explanation:
    schedule.refresh_from_db()
    return explain.of_schedule(schedule, now=now)
