"""Fill an empty database with agents and matches as if they had been played.

Also with what people did: seasons, schedules, campaigns that they started, and the audit of it all.
"""

from datetime import datetime, timedelta
from time import perf_counter

from django.core.management import call_command
from django.db import connection, transaction

from benchmarks.field.boards import (
    MAIN,
    MainBoard,
    write_main_board,
    write_ratings,
    write_small_boards,
)
from benchmarks.field.drawn import draw_matches
from benchmarks.field.matches import leave_uncounted, write_matches
from benchmarks.field.people import ADMIN, write_people
from benchmarks.field.runs import write_datasets, write_judging, write_runs
from benchmarks.field.writing import write_rows
from matches.models import (
    Agent,
    Alarm,
    Attempt,
    AuditRow,
    Campaign,
    CampaignPoint,
    Leaderboard,
    Order,
    Schedule,
    Season,
    Tournament,
    Worker,
)
from matches.ratings.seasons import freeze
from matches.store.auditing import Actor
from matches.store.clock import db_now

SEED = 4
N_LATELY = 1_000
# Seasons of the main board, and of how many the rows are there.
N_SEASONS, N_WHOLE = 120, 2
# Agents of a schedule.
N_ENTERED = 200
# Of the curve of a campaign: its evidence has grown ten thousand times.
N_POINTS = 100
ACTIONS = ("agent.quarantine", "agent.release", "tournament.pause", "match.void")


def fill_database(n_agents: int, n_matches: int) -> float:
    """Fill the database unless it is filled; return the seconds that it took."""
    began = perf_counter()
    call_command("migrate", verbosity=0)
    if not Leaderboard.objects.filter(name=MAIN).exists():
        now = db_now()
        # Each row would be looked up in the tables it points at: they are right by construction.
        with connection.constraint_checks_disabled(), transaction.atomic():
            write_people(n_agents, now=now)
            write_small_boards(n_agents // 8, n_agents, now=now)
            judging = write_judging(now=now)
            drawn = draw_matches(n_agents, n_matches, seed=SEED)
            main = write_main_board(n_agents, drawn, now=now)
            write_matches(main, drawn, seed=SEED)
            write_ratings(main, n_agents)
            write_seasons(main, n_agents)
            leave_uncounted(main)
            write_schedules(main, n_agents)
            write_campaign(main, n_agents)
            write_audit(main, 2 * n_agents)
            write_runs(max(1, n_agents // 32), judging, now=now)
            write_datasets(max(1, n_agents // 32), now=now)
        with connection.cursor() as cursor:
            # Without statistics SQLite chooses other indexes than an installation that has run.
            cursor.execute("ANALYZE")
    freshen_rows(now=db_now())
    return perf_counter() - began


def freshen_rows(*, now: datetime) -> None:
    """Let nodes be alive and matches be played just now, however old the database is."""
    # Every fourth node is lost: the pages of both kinds are asked.
    Worker.objects.extra(where=["id %% 4 > 0"]).update(last_seen_at=now)
    lately = Attempt.objects.order_by("-pk").values_list("pk", flat=True)[:N_LATELY]
    Attempt.objects.filter(pk__in=list(lately)).update(ended_at=now - timedelta(seconds=5))
    Order.objects.filter(Order.is_open()).update(deadline_at=now + timedelta(hours=1))
    Leaderboard.objects.filter(name=MAIN).update(rated_at=now)
    running = Tournament.objects.filter(leaderboard__name=MAIN, finished_at=None)
    running.update(started_at=now - timedelta(hours=1))


def write_seasons(main: MainBoard, n_agents: int) -> None:
    """Write the seasons; the newest ones are whole."""
    Season.objects.bulk_create(
        Season(
            leaderboard=main.board,
            name=f"Season {number}",
            frozen_at=main.now - timedelta(days=N_SEASONS - number),
            actor=ADMIN,
            n_agents=n_agents,
            n_counted=main.board.n_counted,
            results_hash=main.board.results_hash,
        )
        for number in range(N_SEASONS - N_WHOLE)
    )
    for number in range(N_SEASONS - N_WHOLE, N_SEASONS):
        freeze(main.board, f"Season {number}", actor=Actor(ADMIN), now=main.now)


def write_schedules(main: MainBoard, n_agents: int) -> None:
    """Write schedules, of which the last one is enabled and has agents of its own."""
    n = n_agents // 16
    schedules = Schedule.objects.bulk_create(
        Schedule(
            name=f"every night {number}",
            leaderboard=main.board,
            crontab="0 3 * * *",
            is_enabled=(n - number) % 2 == 1,
            n_matches=1_000,
            last_tournament=main.tournaments[0],
            created_at=main.now,
        )
        for number in range(n)
    )
    agents = range(1, min(N_ENTERED, n_agents) + 1)
    entered = Schedule.agents.through
    write_rows(entered, len(agents), schedule_id=schedules[-1].pk, agent_id=agents)


def write_audit(main: MainBoard, n: int) -> None:
    actions = [ACTIONS[number % len(ACTIONS)] for number in range(n)]
    kinds = [action.partition(".")[0] for action in actions]
    n_agents, tournament = Agent.objects.count(), Tournament.objects.latest("pk").pk
    targets = [
        tournament if kind == "tournament" else 1 + number % n_agents
        for number, kind in enumerate(kinds)
    ]
    write_rows(
        AuditRow,
        n,
        at=[main.now - timedelta(seconds=n - number) for number in range(n)],
        actor=ADMIN,
        action=actions,
        target_kind=kinds,
        target_id=targets,
        target_label=[f"{kind} {target}" for kind, target in zip(kinds, targets, strict=True)],
        reason="it hangs",
        touched={"n_matches": 12, "n_open": 3},
    )


def write_campaign(main: MainBoard, n_agents: int) -> None:
    """Let the tournament under way ask who is the best; one agent has fallen behind its parent."""
    tournament = main.tournaments[-1]
    campaign = Campaign.objects.create(
        tournament=tournament,
        question="best",
        max_matches=main.n_matches,
        n_known=main.n_done,
        n_judged=main.n_done,
        judged_at=main.now,
        chances=[1 / n_agents] * n_agents,
        probability=1 / n_agents,
    )
    better, worse = tournament.entrant_set.values_list("agent_id", flat=True)[:2]
    Alarm.objects.create(
        agent_id=worse,
        ancestor_id=better,
        campaign=campaign,
        probability=0.97,
        margin=1.0,
        level=0.95,
        at=main.now,
    )
    write_rows(
        CampaignPoint,
        N_POINTS,
        campaign_id=campaign.pk,
        n_results=range(N_POINTS),
        at=main.now,
        probability=[number / 100 for number in range(N_POINTS)],
    )
