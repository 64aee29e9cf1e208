"""Fill an empty database with agents and matches as if they had been played."""

from datetime import datetime, timedelta
from time import perf_counter

from django.core.management import call_command
from django.db import connection, transaction

from benchmarks.field import acts, boards, matches, people
from benchmarks.field.drawn import draw
from matches.models import Attempt, Leaderboard, Order, Tournament, Worker
from matches.store.clock import db_now

SEED = 4
N_LATELY = 1_000


def fill(n_agents: int, n_matches: int) -> float:
    """Fill the database unless it is filled; return the seconds that it took."""
    began = perf_counter()
    call_command("migrate", verbosity=0)
    if not Leaderboard.objects.filter(name=boards.MAIN).exists():
        _fill(n_agents, n_matches, now=db_now())
    _freshen(now=db_now())
    return perf_counter() - began


def _fill(n_agents: int, n_matches: int, *, now: datetime) -> None:
    # Each row would be looked up in the tables that it points at: they are right by construction.
    with connection.constraint_checks_disabled(), transaction.atomic():
        people.fill(n_agents, now=now)
        boards.fill_small(n_agents // 8, n_agents, now=now)
        drawn = draw(n_agents, n_matches, seed=SEED)
        main = boards.open_main(n_agents, drawn, now=now)
        boards.rate(main, drawn, seed=SEED)
        matches.fill(main, drawn, seed=SEED)
        acts.fill(main, n_agents)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _freshen(*, now: datetime) -> None:
    """Let nodes be alive and matches be played just now, however old the database is."""
    Worker.objects.extra(where=["id %% 4 > 0"]).update(last_seen_at=now)
    lately = Attempt.objects.order_by("-pk").values_list("pk", flat=True)[:N_LATELY]
    Attempt.objects.filter(pk__in=list(lately)).update(ended_at=now - timedelta(seconds=5))
    Order.objects.filter(Order.is_open()).update(deadline_at=now + timedelta(hours=1))
    Leaderboard.objects.filter(name=boards.MAIN).update(rated_at=now)
    Tournament.objects.filter(leaderboard__name=boards.MAIN, finished_at=None).update(
        started_at=now - timedelta(hours=1)
    )
