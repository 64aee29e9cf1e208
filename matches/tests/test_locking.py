"""One order of locking: who records, gives up, cancels or voids at once ends without a deadlock.

SQLite lets one write at a time: it is the run of these tests on PostgreSQL that tells.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test import Client
from redis import Redis

from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from matches.admin.acts.base import ConfirmedRow
from matches.admin.acts.tournaments import Cancel
from matches.campaigns import inputs
from matches.ledger import order_states, recording, tournaments, voiding
from matches.ledger.noted_changes import change_with_audit
from matches.models import AuditRow, Campaign, Leaderboard, Match, Order, Tournament
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)
N_ROUNDS = 12
GATE = {"candidate": "level:10", "baseline": "level:90", "game": "skill_game"}


def at_once(*works: Callable[[], object]) -> None:
    """Begin these at the same time, each on a connection of its own; raise what one raises."""
    barrier = Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        barrier.wait(10)
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(run, work) for work in works]:
            done.result(30)


def playing(tournament: Tournament, n: int) -> list[MatchOrder]:
    """Return orders of two matches that a node plays."""
    orders = [make.ordered(tournament, 2) for _ in range(n)]
    for order in orders:
        make.start(order)
    return orders


def mixed(row: MatchOrderRow) -> ResultRow:
    """Return a result of every other match and a failure of the rest: both are written."""
    if row.match % 2:
        return make.first_wins(row)
    return make.result(row, ending=Ending.FAILED, reason=Reason.ERROR)


def record(orders: list[MatchOrder]) -> None:
    for order in orders:
        recording.record_report(make.finished(order, mixed), now=make.NOW)


def lose(orders: list[MatchOrder]) -> None:
    for row in Order.objects.filter(uuid__in=[order.order for order in orders]).order_by("-pk"):
        order_states.lose_order(row, reason=Reason.EXPIRED, now=make.NOW)


def restart(orders: list[MatchOrder]) -> None:
    make.alive(incarnation=f"life {orders[0].order}")


def cancel(orders: list[MatchOrder]) -> None:
    tournaments.cancel_tournament(Tournament.objects.latest("pk"), now=make.NOW)


def void(orders: list[MatchOrder]) -> None:
    ids = [row.match for order in reversed(orders) for row in order.matches]
    voiding.void_matches(ids, actor=Actor("test"), reason="test", now=make.NOW)


def cancel_with_audit(orders: list[MatchOrder]) -> None:
    cancel_now = partial(tournaments.cancel_tournament, now=make.NOW)
    latest = Tournament.objects.latest("pk")
    change_with_audit(latest, "cancel", cancel_now, actor=Actor("anna"), now=make.NOW)


def cancel_by_admin(orders: list[MatchOrder]) -> None:
    act, latest = Cancel(), Tournament.objects.latest("pk")
    with transaction.atomic():
        row = act.lock_row(latest)
        assert row is not None
        act.perform_act(ConfirmedRow(row, make.NOW, {"reason": "test"}, Actor("anna")))


@pytest.mark.parametrize("act", [lose, restart, cancel, cancel_with_audit, cancel_by_admin, void])
def test_results_are_recorded_while_others_take_the_same_rows(
    act: Callable[[list[MatchOrder]], None], broker: Redis
) -> None:
    for number in range(N_ROUNDS):
        tournament = make.planned(8, board=f"board-{number}", seed=number)
        make.alive()
        orders = playing(tournament, 3)
        at_once(partial(record, orders), partial(act, orders))
        in_flight = Match.objects.filter(tournament=tournament, state__in=Match.IN_FLIGHT)
        over = (Order.State.LOST, Order.State.CLOSED)
        assert not in_flight.filter(order__state__in=over).exists()


def test_of_two_who_cancel_at_once_one_is_noted(broker: Redis) -> None:
    for number in range(N_ROUNDS):
        tournament = make.planned(8, board=f"twice-{number}", seed=number)
        at_once(partial(cancel_with_audit, []), partial(cancel_with_audit, []))
        assert AuditRow.objects.filter(target_id=tournament.pk).count() == 1


def test_an_agent_that_several_calls_add_at_once_is_added_by_one_in_the_audit(
    admin_user: User,
) -> None:
    client = Client()
    client.force_login(admin_user)
    agent = {"name": "a", "game": "skill_game", "policy": "level", "parameters": {"level": 20}}

    def add() -> None:
        answer = client.post("/api/v1/agents/", agent, "application/json")
        assert answer.status_code == 201, answer.content

    at_once(*[add] * 4)
    assert AuditRow.objects.get().action == "agent.add"


def test_gates_of_one_pair_at_once_start_one_test(broker: Redis, admin_user: User) -> None:
    client = Client()
    client.force_login(admin_user)

    def enter() -> None:
        answer = client.post("/api/v1/gates/", GATE, "application/json")
        assert answer.status_code == 201, answer.content

    at_once(*[enter] * 4)
    assert Campaign.objects.count() == 1
    rows = AuditRow.objects.filter(action__endswith=".add").values_list("action", flat=True)
    assert sorted(rows) == ["agent.add", "agent.add", "campaign.add", "leaderboard.add"]


def test_a_leaderboard_that_another_call_opens_meanwhile_is_taken(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_first(name: str, **options: Any) -> Leaderboard:
        tournaments.open_leaderboard(name, **options)
        return tournaments.open_leaderboard(name, **options)

    monkeypatch.setattr(inputs, "open_leaderboard", open_first)
    board = inputs.open_board("watch", game="skill_game", title="A watch")
    assert board == Leaderboard.objects.get()
