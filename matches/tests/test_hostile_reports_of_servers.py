"""What a node that lies can do to game servers: nothing beyond the matches that it was dealt."""

import pytest
from redis import Redis

from arena.messages import MatchOrder, MatchOrderRow, ResultRow
from matches.ledger import quarantine, recording
from matches.models import Attempt, Match, Tournament, Worker
from matches.store.auditing import Actor
from matches.tests import factories as make
from matches.tests import served

pytestmark = pytest.mark.django_db


@pytest.fixture
def order(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> MatchOrder:
    """Return an order of four matches, two on each of two servers, that a node plays."""
    served.let_servers_play(monkeypatch)
    tournament = make.planned(40)
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=0.01)
    make.alive()
    make.serve("sim-1", slots=2)
    make.serve("sim-2", slots=2)
    (order,) = make.sent(broker)
    make.start(order)
    return order


def rows_of(order: MatchOrder, server: str) -> list[MatchOrderRow]:
    return [row for row in order.matches if served.server_of(order, row) == server]


def report(order: MatchOrder, *rows: ResultRow, now: object = make.NOW) -> recording.RecordedCounts:
    return recording.record_report(
        make.reported(order, rows, is_last=False),
        now=now,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("name", ["", "sim-2"])
def test_a_match_that_has_ended_is_passed_on_to_no_other_server(
    order: MatchOrder, name: str
) -> None:
    row = rows_of(order, "sim-1")[0]
    # Refused for its ranks, and no more with its server.
    report(order, make.result(row, ranks=[5, 5], server="sim-1"))
    report(order, served.faulty(row, server=name))
    assert not Attempt.objects.filter(reason="server_fault").exists()


@pytest.mark.parametrize("name", ["", "sim-1", "sim-2"])
def test_a_match_is_reported_under_its_own_order(
    order: MatchOrder, broker: Redis, name: str
) -> None:
    make.serve("sim-3", slots=2)
    (other,) = make.sent(broker)
    make.start(other)
    recorded = report(order, served.honest(other.matches[0], server=name))
    assert (recorded.n_closed, recorded.n_refused) == (0, 1)
    assert Match.objects.get(pk=other.matches[0].match).state == Match.State.RUNNING


def test_a_loss_that_is_told_again_pauses_nobody(order: MatchOrder) -> None:
    loss_report = make.reported(
        order, [served.lost(r, server="sim-1") for r in rows_of(order, "sim-1")]
    )
    recording.record_report(loss_report, now=make.NOW)
    before = Worker.objects.get(node="sim-1").lost_at
    assert before == make.NOW
    assert recording.record_report(loss_report, now=make.later(60)).n_refused == 2
    assert Worker.objects.get(node="sim-1").lost_at == before


def test_a_server_in_quarantine_is_not_let_in_under_another_name(order: MatchOrder) -> None:
    stopped = Worker.objects.get(node="sim-1")
    quarantine.quarantine_worker(stopped, actor=Actor("anna"), reason="it lies", now=make.NOW)
    make.serve("renamed", address=stopped.address, now=make.later(60))
    renamed = Worker.objects.get(node="renamed")
    assert renamed.quarantine_reason == f"it is at {stopped.address}, as sim-1 was: it lies"
    # Whoever lets it in again is obeyed, and a neighbour is no culprit.
    quarantine.release_worker(renamed, actor=Actor("anna"), reason="", now=make.later(61))
    make.serve("renamed", address=stopped.address, now=make.later(62))
    make.serve("neighbour", now=make.later(62))
    # Much later the address may be that of somebody else.
    make.serve("late", address=stopped.address, now=make.later(4_000))
    held = Worker.objects.filter(quarantined_at__isnull=False)
    assert list(held.values_list("node", flat=True)) == ["sim-1"]


def test_nor_under_one_that_it_had_used_before(order: MatchOrder) -> None:
    stopped = Worker.objects.get(node="sim-1")
    make.serve("spare", address=stopped.address, now=make.later(-5))
    quarantine.quarantine_worker(stopped, actor=Actor("anna"), reason="it lies", now=make.NOW)
    make.serve("spare", address=stopped.address, now=make.later(2))
    assert "as sim-1 was: it lies" in Worker.objects.get(node="spare").quarantine_reason


def test_a_server_without_an_address_is_no_play_node_in_quarantine(broker: Redis) -> None:
    make.alive()
    node = Worker.objects.get(node="node-1")
    quarantine.quarantine_worker(node, actor=Actor("anna"), reason="it lies", now=make.NOW)
    make.serve("sim-2", address="", now=make.later(2))
    assert Worker.objects.get(node="sim-2").quarantined_at is None
