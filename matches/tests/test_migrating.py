"""A database of an installation before: its rows go on after the migrations of today."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from redis import Redis

from arena.queues import play_queue
from matches.ledger import code_versions, relay
from matches.ledger.code_versions import describe_outdated_agent, describe_outdated_board
from matches.ledger.sweep import give_up_lost_orders
from matches.models import (
    Agent,
    Leaderboard,
    Match,
    NodeKey,
    Order,
    Rating,
    RecorderMark,
    Tournament,
)
from matches.nodes import fair_shares
from matches.tests import factories
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db
BEFORE = ("matches", "0011_pairs_of_tests")


@pytest.fixture(scope="module", autouse=True)
def migrated(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Migrate rows of the schema before, once for all tests: back and forth takes seconds."""
    with django_db_blocker.unblock():
        executor = MigrationExecutor(connection)
        executor.migrate([BEFORE])
        try:
            add_rows(executor.loader.project_state([BEFORE]).apps)
        finally:
            executor = MigrationExecutor(connection)
            executor.migrate(executor.loader.graph.leaf_nodes())  # other apps stand on it, too
        yield
        call_command("flush", interactive=False, verbosity=0)


def add_rows(before: Any) -> None:
    """Add a tournament under way of shipped code, and an agent and a leaderboard of a plug-in."""
    boards, agents = (
        before.get_model("matches", "Leaderboard"),
        before.get_model("matches", "Agent"),
    )
    board = boards.objects.create(name="old", game="othello", next_sequence=3)
    boards.objects.create(name="own", game="nim", next_sequence=3)
    boards.objects.create(name="generated", game="othello", is_listed=False)
    # Reset, and carried on in a later season.
    for minutes, mode in enumerate(("reset", "reset", "carry")):
        before.get_model("matches", "AuditRow").objects.create(
            at=later(60 * minutes),
            actor="ada",
            action="leaderboard.begin",
            target_kind="leaderboard",
            target_id=board.pk,
            touched={"mode": mode},
        )
    # With a doubt that is not that of a newcomer.
    rated = agents.objects.create(name="rated", game="nim", policy="centre")
    before.get_model("matches", "Rating").objects.create(
        leaderboard=boards.objects.get(name="own"), agent=rated, mu=30.0, sd=2.0
    )
    two = [agents.objects.create(name=n, game="othello", policy=n) for n in ("random", "greedy")]
    agents.objects.create(name="centre", game="nim", policy="centre")
    tournament = before.get_model("matches", "Tournament").objects.create(
        name="t",
        leaderboard=board,
        state="running",
        pairing="double_round_robin",
        n_matches=2,
        n_planned=2,
        seed=0,
        key="k" * 32,
        shares={"play.cpu": 3.5},
    )
    for position, agent in enumerate(two):
        entrants = before.get_model("matches", "Entrant").objects
        entrants.create(tournament=tournament, agent=agent, position=position)
    order = before.get_model("matches", "Order").objects.create(
        tournament=tournament,
        queue="play.cpu",
        n_matches=2,
        created_at=NOW,
        deadline_at=later(600),
    )
    lineup = ",".join(str(agent.pk) for agent in two)
    for sequence in (1, 2):
        before.get_model("matches", "Match").objects.create(
            leaderboard=board,
            tournament=tournament,
            sequence=sequence,
            block=0,
            rotation=sequence - 1,
            game_seed=1,
            lineup=lineup,
            needs="cpu",
            state="queued",
            attempt=1,
            order=order,
        )
    before.get_model("matches", "Worker").objects.create(
        node="node-1",
        incarnation="x",
        slots=2,
        capabilities=["cpu"],
        versions={},
        first_seen_at=NOW,
        last_seen_at=NOW,
    )
    schedules = before.get_model("matches", "Schedule").objects
    schedules.create(name="s", leaderboard=board, crontab="0 * * * *", n_matches=2, created_at=NOW)


def test_what_was_under_way_goes_on() -> None:
    tournament = Tournament.objects.get()
    assert fair_shares.find_current_place([tournament]) == 0
    assert code_versions.filter_runnable([tournament]) == [tournament]
    entered = Agent.objects.filter(tournaments=tournament)
    assert not describe_outdated_agent(entered, is_new=True)
    assert not describe_outdated_board(tournament.leaderboard, is_new=True)
    # Of a plug-in nobody knows which code its results came from.
    assert not Agent.objects.get(name="centre").version
    assert not Leaderboard.objects.get(name="own").game_version


def test_an_interval_stays_as_it_was_until_it_is_fitted_again() -> None:
    rating = Rating.objects.get(agent__name="rated")
    assert (rating.mu, rating.sd) == (30.0, 2.0)
    assert (rating.low, rating.high) == pytest.approx((30 - 3.92, 30 + 3.92), abs=1e-3)


def test_ratings_were_last_reset_when_the_audit_says() -> None:
    assert dict(Leaderboard.objects.values_list("name", "ratings_reset_at")) == {
        "old": later(60),
        "own": None,
        "generated": None,
    }


def test_boards_of_unrated_play_are_told_from_those_that_are_only_unlisted() -> None:
    assert dict(Leaderboard.objects.values_list("name", "is_rated")) == {
        "old": True,
        "own": True,
        "generated": False,
    }


def test_orders_of_a_queue_that_nobody_consumes_any_more_are_sent_to_a_node(broker: Redis) -> None:
    factories.alive(now=later(1))
    RecorderMark.objects.create(pk=1, marked_at=later(1))
    assert give_up_lost_orders(now=later(1), waiting={"play.cpu": set()}) == 1
    assert relay.send_pending_matches(now=later(2)) == 1
    assert Order.objects.get(state=Order.State.QUEUED).queue == "play.node-1"
    assert Match.objects.filter(state="queued", attempt=2).exists()


def test_the_name_of_the_queue_of_every_node_fits() -> None:
    longest = NodeKey._meta.get_field("name").max_length
    room = Order._meta.get_field("queue").max_length
    assert len(play_queue("n" * (longest or 0))) <= (room or 0)
