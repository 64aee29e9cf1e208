"""What people did: seasons, schedules, campaigns that they started, and the audit of it all."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from benchmarks.field.boards import Main
from benchmarks.field.people import ADMIN
from benchmarks.field.writing import moment, stored, write
from matches.models import (
    Agent,
    Alarm,
    AuditRow,
    Campaign,
    CampaignPoint,
    Rating,
    Schedule,
    Season,
    SeasonRow,
    Tournament,
)

N_SEASONS, N_WHOLE = 120, 2
"""Seasons of the main board, and of how many the rows are there."""
N_ENTERED = 200
"""Agents of a schedule."""
N_POINTS = 100
"""Of the curve of a campaign: its evidence has grown ten thousand times."""
_ACTIONS = ("agent.quarantine", "agent.release", "tournament.pause", "match.void")
_COLUMNS = (
    *("agent_id", "agent__name", "mu", "sd", "live_mu", "live_sigma"),
    *("n_matches", "n_wins", "n_draws", "n_losses", "n_forfeits"),
)


def fill(main: Main, n_agents: int) -> None:
    """Write them; the newest season is whole."""
    seasons = Season.objects.bulk_create(
        Season(
            leaderboard=main.board,
            name=f"Season {number}",
            frozen_at=main.now - timedelta(days=N_SEASONS - number),
            actor=ADMIN,
            n_agents=n_agents,
            n_counted=main.board.n_counted,
            results_hash=main.board.results_hash,
        )
        for number in range(N_SEASONS)
    )
    for season in seasons[-N_WHOLE:]:
        _write_rows(season)
    _write_schedules(main, n_agents)
    _write_campaign(main, n_agents)
    _write_audit(main, 2 * n_agents)


def _write_rows(season: Season) -> None:
    ranked = Rating.objects.filter(leaderboard=season.leaderboard).order_by("-mu", "agent_id")
    names = ("season_id", "rank", *(name.replace("agent__name", "name") for name in _COLUMNS))
    rows = enumerate(ranked.values_list(*_COLUMNS).iterator(), 1)
    write(SeasonRow, names, ((season.pk, rank, *row) for rank, row in rows))


def _write_schedules(main: Main, n_agents: int) -> None:
    made = Schedule.objects.bulk_create(
        Schedule(
            name=f"every night {number}",
            leaderboard=main.board,
            crontab="0 3 * * *",
            is_enabled=(n_agents // 16 - number) % 2 == 1,  # the last one is
            n_matches=1_000,
            last_tournament=main.tournaments[0],
            created_at=main.now,
        )
        for number in range(n_agents // 16)
    )
    entered = Schedule.agents.through
    entered.objects.bulk_create(
        entered(schedule_id=made[-1].pk, agent_id=agent)
        for agent in range(1, min(N_ENTERED, n_agents) + 1)
    )


def _write_audit(main: Main, n: int) -> None:
    names = (
        *("at", "actor", "action", "target_kind", "target_id", "target_label", "reason"),
        "touched",
    )
    touched = stored(AuditRow, "touched", {"n_matches": 12, "n_open": 3})
    n_agents, tournament = Agent.objects.count(), Tournament.objects.latest("pk").pk

    def rows() -> Iterator[tuple[Any, ...]]:
        for number in range(n):
            action = _ACTIONS[number % len(_ACTIONS)]
            kind = action.partition(".")[0]
            target = tournament if kind == "tournament" else 1 + number % n_agents
            at = moment(main.now - timedelta(seconds=n - number))
            yield (at, ADMIN, action, kind, target, f"{kind} {target}", "it hangs", touched)

    write(AuditRow, names, rows())


def _write_campaign(main: Main, n_agents: int) -> None:
    """Let the tournament under way ask who is the best."""
    campaign = Campaign.objects.create(
        tournament=main.tournaments[-1],
        question="best",
        max_matches=main.n_matches,
        n_known=main.n_done,
        n_judged=main.n_done,
        judged_at=main.now,
        chances=[1 / n_agents] * n_agents,
        probability=1 / n_agents,
    )
    better, worse = main.tournaments[-1].entrant_set.values_list("agent_id", flat=True)[:2]
    Alarm.objects.create(
        agent_id=worse,
        ancestor_id=better,
        campaign=campaign,
        probability=0.97,
        margin=1.0,
        level=0.95,
        at=main.now,
    )
    CampaignPoint.objects.bulk_create(
        CampaignPoint(campaign=campaign, n_results=number, at=main.now, probability=number / 100)
        for number in range(N_POINTS)
    )
