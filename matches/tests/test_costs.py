"""Neither an explanation nor a look at the system costs more when more matches are finished."""

from collections.abc import Callable

import pytest
from django.db import connection
from redis import Redis

from matches.models import Agent, Attempt, Match, Order, Outcome, Tournament, Worker
from matches.operations import explain
from matches.operations.system.sampling import take_sample
from matches.store.selectors import filter_matches
from matches.tests import factories as make
from matches.tests.database_steps import count_steps
from matches.tests.factories import NOW

pytestmark = pytest.mark.django_db
N_FEW, N_MANY = 500, 5_000


def _board(n_finished: int) -> Tournament:
    """Return a tournament of which so many matches are finished and 50 are pending."""
    tournament = make.planned(n_finished + 50, board=f"board-{n_finished}", seed=n_finished)
    done = Match.objects.filter(tournament=tournament, sequence__lte=n_finished)
    ids = list(done.values_list("pk", flat=True))
    done.update(state=Match.State.DONE)
    Outcome.objects.bulk_create(
        Outcome(match_id=pk, ranks="0,1", attempt=1, recorded_at=NOW) for pk in ids
    )
    Attempt.objects.bulk_create(
        Attempt(match_id=pk, number=1, ending="done", ended_at=NOW) for pk in ids
    )
    Order.objects.bulk_create(
        Order(
            tournament=tournament,
            queue="play.node-1",
            n_matches=1,
            state=Order.State.CLOSED,
            node=make.NODE,
            created_at=NOW,
            started_at=NOW,
            deadline_at=NOW,
        )
        for _ in range(n_finished)
    )
    make.alive()
    return tournament


def _reads(tournament: Tournament) -> dict[str, Callable[[], object]]:
    matches = Match.objects.filter(tournament=tournament)
    first, last = matches.earliest("sequence"), matches.latest("sequence")
    agent, worker = Agent.objects.get(name="level:10"), Worker.objects.get()
    return {
        "done match": lambda: explain.of_match(first, now=NOW),
        "pending match": lambda: explain.of_match(last, now=NOW),
        "tournament": lambda: explain.of_tournament(tournament, now=NOW),
        "agent": lambda: explain.of_agent(agent, now=NOW),
        "worker": lambda: explain.of_worker(worker, now=NOW),
        "matches in flight": lambda: list(filter_matches(tournament.pk, state="running")),
        "system": lambda: take_sample(now=NOW, last=None),
    }


def test_no_read_grows_with_the_finished_matches(broker: Redis) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the steps of SQLite")
    few = {name: count_steps(read) for name, read in _reads(_board(N_FEW)).items()}
    Match.objects.update(state=Match.State.DONE)
    Tournament.objects.update(state=Tournament.State.DONE)
    many = {name: count_steps(read) for name, read in _reads(_board(N_MANY)).items()}
    grown = {name: (few[name], many[name]) for name in few if many[name] > 1.3 * few[name] + 10}
    assert grown == {}
