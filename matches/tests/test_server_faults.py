"""Game servers that answer nonsense, and those that do not tell how a match came out."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis

from arena.games.catalog.skill_game import GAME as RULES
from arena.games.served import ServedGame
from arena.messages import (
    ORDERS,
    ORDERS_WITH_ACTIONS,
    MatchOrder,
    MatchOrderRow,
    ResultRow,
)
from matches import control
from matches.ledger import quarantine, recording, server_checks
from matches.models import (
    Attempt,
    AuditRow,
    Match,
    NodeCost,
    Outcome,
    ReplayCheck,
    Tournament,
    Worker,
)
from matches.store.auditing import Actor
from matches.tests import factories as make
from matches.tests import served

pytestmark = pytest.mark.django_db
Tell = Callable[..., ResultRow]


@pytest.fixture
def order(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> MatchOrder:
    """Return an order of 200 matches, all with one server, that a node plays."""
    served.let_servers_play(monkeypatch)
    return ordered(broker)


def ordered(broker: Redis) -> MatchOrder:
    tournament = make.planned(2_000)
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=0.01)
    make.alive()
    make.serve(slots=200)
    (order,) = make.sent(broker)
    assert len(order.matches) == 200
    make.start(order)
    return order


def report(order: MatchOrder, rows: Sequence[MatchOrderRow], tell: Tell = served.honest) -> None:
    results = [tell(row, server="sim-1") for row in rows]
    recording.record_report(make.reported(order, results, is_last=False), now=make.NOW)


def is_held() -> bool:
    return Worker.objects.get(node="sim-1").quarantined_at is not None


def test_three_faults_in_a_row_stop_a_server(order: MatchOrder) -> None:
    rows = order.matches
    report(order, rows[:2], served.faulty)
    report(order, rows[2:3])
    report(order, rows[3:5], served.faulty)
    assert not is_held()
    report(order, rows[5:6], lambda row, server: served.faulty(row, server=server, detail="10 MB"))
    reason = Worker.objects.get(node="sim-1").quarantine_reason
    assert reason == (
        "its answers were faulty in 3 matches in a row "
        f"({rows[5].match}, {rows[4].match}, {rows[3].match}); last, as node-1 reports: 10 MB"
    )
    audited = AuditRow.objects.get()
    assert (audited.action, audited.actor, audited.reason) == (
        *("worker.quarantine", "control"),
        reason,
    )
    assert Match.objects.filter(state="running").count() == 0, "the others are given back"


def test_one_node_alone_stops_no_server_that_others_can_play_on(order: MatchOrder) -> None:
    make.alive(node="node-2")
    rows = order.matches
    report(order, rows[:8], served.faulty)
    assert not is_held(), "neither by three in a row nor by five of a hundred"
    # Another node finds the same, not lately: five faults are told by two.
    Attempt.objects.filter(match=rows[0].match).update(node="node-2")
    report(order, rows[8:9], served.faulty)
    assert "in 9 of its last 9 matches" in Worker.objects.get(node="sim-1").quarantine_reason


@pytest.mark.parametrize(
    "other",
    [
        {"capabilities": ("gpu",)},  # plays nothing
        {"capabilities": ("mujoco",)},  # plays other games
        {"now": make.later(-60)},  # is silent
        {"versions": {ORDERS: ORDERS_WITH_ACTIONS}},  # is of a version that dials no game servers
    ],
)
def test_the_word_of_the_only_node_that_can_play_is_enough(
    order: MatchOrder, other: dict[str, Any]
) -> None:
    make.alive(node="node-2", **other)
    report(order, order.matches[:3], served.faulty)
    assert is_held()


def test_a_match_that_is_at_fault_again_and_again_is_one_fault(
    broker: Redis, order: MatchOrder
) -> None:
    report(order, order.matches[:1], served.faulty)
    match = Match.objects.get(pk=order.matches[0].match)
    for number in range(2, 5):
        match.attempts.create(
            number=number, ending="failed", reason="server_fault", server="sim-1", ended_at=make.NOW
        )
    report(order, order.matches[1:2], served.faulty)
    assert not is_held()


def test_five_faults_among_the_last_hundred_stop_a_server(order: MatchOrder) -> None:
    rows = order.matches
    for number in range(4):
        report(order, rows[number * 25 : number * 25 + 1], served.faulty)
        report(order, rows[number * 25 + 1 : number * 25 + 25])
    assert not is_held()
    report(order, rows[100:101], served.faulty)
    # The first one is the hundred and first before it.
    assert not is_held()
    report(order, rows[101:102])
    report(order, rows[102:103], served.faulty)
    assert "in 5 of its last 100 matches" in Worker.objects.get(node="sim-1").quarantine_reason


def test_once_released_it_is_not_stopped_for_what_it_was_stopped_for(
    broker: Redis, order: MatchOrder
) -> None:
    report(order, order.matches[:3], served.faulty)
    worker = Worker.objects.get(node="sim-1")
    quarantine.release_worker(worker, actor=Actor("anna"), reason="", now=make.later(1))
    make.serve(slots=200, now=make.later(2))
    (again,) = make.sent(broker, now=make.later(2))
    make.start(again, now=make.later(2))
    row = served.faulty(again.matches[0], server="sim-1")
    recording.record_report(make.reported(again, [row], is_last=False), now=make.later(3))
    assert not is_held()


def test_a_loss_is_no_fault(order: MatchOrder) -> None:
    report(order, order.matches[:50], served.lost)
    assert not is_held()
    assert set(Match.objects.filter(attempt=1).values_list("state", flat=True)) >= {"pending"}


def test_some_matches_are_played_again_and_an_honest_server_stays(order: MatchOrder) -> None:
    report(order, order.matches[:100])
    report(order, order.matches[100:101])
    assert ReplayCheck.objects.count() == 6
    assert server_checks.check_chosen(now=make.NOW) == 6
    assert not ReplayCheck.objects.exists()
    assert not is_held()


def test_a_server_that_flips_returns_is_stopped(order: MatchOrder) -> None:
    report(order, order.matches[:20], served.flipped)
    (check,) = ReplayCheck.objects.all()
    control.do_duties(now=make.NOW)
    assert Worker.objects.get(node="sim-1").quarantine_reason == (
        f"match {check.match_id}, as node-1 reports it, did not come out so: it says ranks 0,1, "
        "by our rules the returns are -1, 1"
    )
    assert AuditRow.objects.get().actor == "control"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"returns": "-0.5,0.5"}, "it says returns -0.5,0.5, by our rules -1, 1"),
        ({"actions": "10"}, "by our rules it is not over after its 1 moves"),
        ({"actions": "10 100"}, "by our rules its move 2, action 100, is illegal"),
        ({"actions": "10 50 3"}, "by our rules it is over after 2 of its 3 moves"),
        ({"actions": ""}, ""),
        ({"actions": "10 x"}, ""),
        ({"returns": ""}, ""),
        ({"returns": "-1.0000000000000002,1.0"}, ""),
    ],
)
def test_what_differs_is_said(order: MatchOrder, changed: dict[str, str], says: str) -> None:
    report(order, order.matches[:1])
    Outcome.objects.update(**changed)
    match = Match.objects.select_related("outcome", "leaderboard").get(state="done")
    assert server_checks.find_difference(match) == says


def test_where_the_rules_are_not_ours_nothing_is_chosen(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.let_servers_play(monkeypatch, has_rules=False)
    order = ordered(broker)
    report(order, order.matches[:100], served.flipped)
    assert not ReplayCheck.objects.exists()


def test_a_fault_of_our_own_rules_stops_nobody(
    order: MatchOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise RuntimeError("a plug-in with a fault")

    report(order, order.matches[:1])
    monkeypatch.setattr(type(RULES), "start", fail)
    assert server_checks.check_chosen(now=make.NOW) == 1
    assert not is_held()


def test_rules_that_cannot_be_used_cost_no_result(
    order: MatchOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **named: object) -> None:
        raise RuntimeError("a plug-in with a fault")

    monkeypatch.setattr(ServedGame, "configured", fail)
    report(order, order.matches[:20])
    assert Match.objects.filter(state="done").count() == 20
    assert not ReplayCheck.objects.exists()
    board = Tournament.objects.select_related("leaderboard").get().leaderboard
    assert "the rules are not here" in server_checks.describe_trust(board)


def test_a_tick_plays_no_more_again_than_it_has_time_for(
    order: MatchOrder, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(order, order.matches)
    ticks = iter(range(100))
    assert server_checks.check_chosen(now=make.NOW, limit_s=3, clock_s=lambda: next(ticks)) == 3
    assert ReplayCheck.objects.count() == 7
    monkeypatch.setattr(server_checks, "MAX_AT_ONCE", 2)
    monkeypatch.setattr(server_checks, "MAX_WAITING", 1)
    assert server_checks.check_chosen(now=make.NOW) == 2
    assert ReplayCheck.objects.count() == 1


def test_the_choice_can_be_drawn_again_but_not_foreseen(order: MatchOrder) -> None:
    def choose(tournament: Tournament) -> set[int]:
        ReplayCheck.objects.all().delete()
        server_checks.choose_matches(rows, tournament)
        return set(ReplayCheck.objects.values_list("pk", flat=True))

    rows = [served.honest(row, server="sim-1") for row in order.matches]
    tournament = Tournament.objects.select_related("leaderboard").get()
    first = choose(tournament)
    Random().shuffle(rows)
    assert choose(tournament) == first
    tournament.key = "another"
    assert choose(tournament) != first


def test_matches_of_ordinary_games_cost_no_query_more(broker: Redis) -> None:
    order = make.ordered(make.planned(10))
    make.start(order)
    with CaptureQueriesContext(connection) as queries:
        recording.record_report(make.finished(order), now=make.NOW)
    sql = " ".join(query["sql"] for query in queries)
    assert "replaycheck" not in sql
    assert "quarantined_at" in sql, "of its node"
    assert 'UPDATE "matches_worker"' not in sql


def test_the_last_matches_of_a_server_are_read_by_an_index() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("reads the plan of SQLite")
    served_by = Attempt.objects.filter(Attempt.is_served(), server="sim-1").order_by("-id")
    assert "attempt_of_server (server=?)" in served_by[:100].explain()


def test_what_is_taken_from_a_server_is_thrown_away_once(order: MatchOrder) -> None:
    playing = [row.match for row in order.matches[:2]]
    begun = make.reported(order, [], is_last=False, executing=playing)
    recording.record_report(begun, now=make.later(1))
    worker = Worker.objects.get(node="sim-1")
    quarantine.quarantine_worker(worker, actor=Actor("anna"), reason="it lies", now=make.later(4))
    assert NodeCost.objects.get().thrown_s == 2 * 3
    # Its node plays them on until it is told.
    recording.record_report(begun, now=make.later(5))
    make.alive(incarnation="second", now=make.later(20))
    assert NodeCost.objects.get().thrown_s == 2 * 3
