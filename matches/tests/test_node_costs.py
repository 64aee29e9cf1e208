"""Node-hours by class: they add up to what nodes lived, and say what was thrown away."""

from datetime import timedelta

import pytest
from django.db.models import Sum
from django.test import Client
from msgspec.structs import replace
from pytest_django.fixtures import Settings
from redis import Redis

from arena.messages import BegunRow, Ending, MatchOrderRow, Reason, ResultRow
from matches.ledger import recorder_marks, recording, sweep
from matches.ledger.node_costs import report_nodes
from matches.models import NodeCost, NodeRun, Tournament
from matches.nodes import node_runs
from matches.tests import factories as make
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db
SPOT = {"class": "spot", "price": "0.36"}


def read_run(node: str = make.NODE, incarnation: str = make.INCARNATION) -> NodeRun:
    return NodeRun.objects.get(node=node, incarnation=incarnation)


def play_order(
    tournament: Tournament, n_matches: int, begins_s: float, ends_s: float, node: str = make.NODE
) -> None:
    order = make.ordered(tournament, n_matches, node=node)
    make.start(order, node=node, now=later(begins_s))
    report = make.finished(order)
    if node != make.NODE:
        report = replace(report, node=node, key=make.key_of(node))
    recording.record_report(report, now=later(ends_s))


def test_node_hours_by_class_add_up_to_what_the_nodes_lived(settings: Settings) -> None:
    settings.ON_DEMAND_PRICE = 1.0
    make.alive(labels=SPOT)
    make.alive(node="node-2", labels={"class": "reserved", "price": "2"})
    make.alive(node="node-3")
    first, second = make.planned(40), make.planned(40, board="other")
    play_order(first, 5, 1, 11)
    play_order(second, 5, 11, 14)
    play_order(first, 5, 20, 60)
    play_order(first, 5, 3, 9, node="node-2")
    play_order(second, 5, 5, 6, node="node-3")
    for node in (make.NODE, "node-2", "node-3"):
        labels = {make.NODE: SPOT, "node-2": {"class": "reserved", "price": "2"}}.get(node, {})
        make.alive(node=node, labels=labels, now=later(100))
    by_class = dict(
        NodeCost.objects.order_by().values_list("machine_class").annotate(Sum("node_s"))
    )
    assert by_class == {"spot": 53.0, "reserved": 6.0, "": 1.0}
    runs = NodeRun.objects.all()
    busy = {run.machine_class: run.busy_s for run in runs}
    assert busy == by_class, "each second with an order belongs to one tournament"
    assert {(run.heard_at - run.began_at).total_seconds() for run in runs} == {100.0}
    report = report_nodes(first)
    assert report.node_hours * 3600 == pytest.approx(56)
    assert sum(one.node_hours for one in report.classes) == pytest.approx(report.node_hours)
    money = {one.machine_class: one.money for one in report.classes}
    assert money == {"spot": pytest.approx(50 * 0.0001), "reserved": pytest.approx(12 / 3600)}
    assert report.money == pytest.approx(sum(filter(None, money.values())))
    assert report.saved == pytest.approx(50 / 3600 * (1 - 0.36)), "of the spot nodes alone"
    unlabelled = report_nodes(second)
    assert unlabelled.unpriced_hours * 3600 == pytest.approx(1)
    assert [one.money is None for one in unlabelled.classes] == [True, False]


def test_a_node_without_a_price_costs_what_its_cores_do(settings: Settings) -> None:
    settings.WORKER_PRICES = {"cpu": 0.5, "gpu": 0.0}
    make.alive(slots=4)
    assert read_run().price == 2.0
    settings.WORKER_PRICES = {"cpu": 0.0, "gpu": 0.0}
    make.alive(node="node-2")
    assert read_run("node-2").price is None, "nothing is known: not that it is free"
    make.alive(node="node-3", labels={"price": "0"})
    assert read_run("node-3").price == 0.0


@pytest.mark.parametrize("price", ["nan", "-1", "inf", "1e400", "1e308", "much"])
def test_a_price_that_is_none_is_not_known(price: str) -> None:
    assert node_runs.describe_machine({"price": price}, slots=1)["price"] is None


def test_a_report_that_comes_twice_is_booked_once() -> None:
    make.alive(labels=SPOT)
    tournament = make.planned(10)
    order = make.ordered(tournament, 5)
    make.start(order)
    for seconds in (4, 5, 6):
        recording.record_report(make.finished(order), now=later(seconds))
    assert NodeCost.objects.get().node_s == 4
    assert read_run().busy_s == 4


def test_a_lost_node_is_paid_until_it_was_heard_of_last_and_loses_what_it_had_in_play() -> None:
    make.alive(labels=SPOT)
    tournament = make.planned(10)
    order = make.ordered(tournament, 4)
    make.start(order)
    first, second, third, _ = (row.match for row in order.matches)
    begun = make.reported(order, [], is_last=False, executing=[first, second])
    recording.record_report(begun, now=later(2))
    later_on = make.reported(order, [], is_last=False, executing=[first, second, third])
    recording.record_report(later_on, now=later(8))
    # Another process of it has begun: the order of the old one is lost.
    make.alive(incarnation="second", labels=SPOT, now=later(20))
    cost = NodeCost.objects.get()
    assert cost.node_s == 8
    assert cost.thrown_s == (8 - 2) * 2 + 0
    run = read_run()
    assert (run.busy_s, run.ended_at) == (8, later(8))
    report = report_nodes(tournament)
    assert report.thrown_share == 1.0


def test_what_was_told_of_a_match_is_not_thrown_away() -> None:
    make.alive(labels=SPOT)
    tournament = make.planned(10, game="connect_four", agents=("random", "greedy"))
    order = make.ordered(tournament, 2)
    make.start(order)
    row = order.matches[0]
    executing = make.reported(order, [], is_last=False, executing=[row.match])
    recording.record_report(executing, now=later(1))
    begun_row = BegunRow(row.match, row.attempt, row.token, "3 3")
    recording.record_report(replace(executing, begun=[begun_row]), now=later(7))
    alive = {"orders": [order.order], "labels": SPOT}
    make.alive(**alive, now=later(9))  # type: ignore[arg-type]
    make.alive(incarnation="second", labels=SPOT, now=later(20))
    assert NodeCost.objects.get().thrown_s == 2


def test_attempts_that_are_given_back_say_what_they_lost() -> None:
    make.alive(labels=SPOT)
    tournament = make.planned(10)
    order = make.ordered(tournament, 3)
    make.start(order)
    endings = iter([(Ending.FAILED, Reason.ERROR), (Ending.INTERRUPTED, Reason.RETURNED)])

    def end(row: MatchOrderRow) -> ResultRow:
        ending, reason = next(endings, (Ending.DONE, Reason.NONE))
        if ending is Ending.DONE:
            return make.first_wins(row)
        result = make.result(row, ending=ending, reason=reason, duration_ms=3_000)
        return replace(result, lost_ms=500.0)

    recording.record_report(make.finished(order, end), now=later(5))
    assert NodeCost.objects.get().thrown_s == pytest.approx(3.0 + 0.5)


def test_a_node_that_falls_silent_has_ended_and_lives_on_when_it_is_heard_again() -> None:
    make.alive(labels=SPOT)
    assert node_runs.end_silent_runs(mark=later(29)) == 0
    assert node_runs.end_silent_runs(mark=later(31)) == 1
    assert read_run().ended_at == NOW
    make.alive(labels=SPOT, now=later(50))
    run = read_run()
    assert (run.ended_at, run.heard_at - run.began_at) == (None, timedelta(seconds=50))


def test_the_newest_runs_are_kept_and_what_was_booked_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_runs, "MAX_RUNS", 3)
    make.alive(node="node-2", labels=SPOT)
    make.alive(labels=SPOT)
    play_order(make.planned(10), 5, 0, 4)
    for number in range(5):
        make.alive(incarnation=f"run-{number}", labels=SPOT, now=later(10 + number))
    kept = NodeRun.objects.order_by("id").values_list("node", "incarnation")
    runs = [(make.NODE, f"run-{number}") for number in (2, 3, 4)]
    assert [*kept] == [("node-2", make.INCARNATION), *runs], "one that lives is kept"
    assert NodeCost.objects.get().node_s == 4


def test_a_rival_and_a_gpu_worker_are_no_runs() -> None:
    make.alive()
    make.alive(incarnation="other", place="machine-2", now=later(1))
    make.alive(node="gpu-1", capabilities=("gpu",))
    assert [run.incarnation for run in NodeRun.objects.all()] == [make.INCARNATION]


def test_an_order_of_a_node_that_never_said_that_it_lives_is_booked_all_the_same() -> None:
    tournament = make.planned(10)
    play_order(tournament, 5, 1, 4)
    assert NodeCost.objects.get().node_s == 3
    run = read_run()
    assert (run.busy_s, run.began_at, run.heard_at) == (3, later(1), later(4))


def test_page_and_api_tell_the_same(client: Client, broker: Redis, settings: Settings) -> None:
    settings.ON_DEMAND_PRICE = 1.0
    make.alive(labels=SPOT)
    tournament = make.planned(10)
    play_order(tournament, 5, 0, 3_600)
    nodes = client.get(f"/api/v1/tournaments/{tournament.pk}/report/").json()["nodes"]
    assert (nodes["node_hours"], nodes["money"]) == (1.0, pytest.approx(0.36))
    assert nodes["saved"] == pytest.approx(0.64)
    assert [one["machine_class"] for one in nodes["classes"]] == ["spot"]
    page = " ".join(client.get(f"/tournaments/{tournament.pk}/").content.decode().split())
    assert "<dt>Node-hours</dt> <dd>1.00: spot 1.00 (0.36)</dd>" in page
    assert "<dt>Saved against on demand</dt> <dd>0.64</dd>" in page
    assert "<dt>Thrown away</dt> <dd>0.0 % of the work" in page


def test_silent_runs_are_ended_by_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    make.alive(labels=SPOT)
    monkeypatch.setattr(recorder_marks, "find_recorded_until", lambda *, now: now)
    sweep.give_up_lost_orders(now=later(60), waiting={})
    assert read_run().ended_at == NOW
