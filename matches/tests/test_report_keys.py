"""Whose reports count: those with the key of their node, and of two of a name the first."""

from datetime import datetime

import msgspec
import pytest
from django.conf import settings
from redis import Redis

from arena.credentials import gpu_key, head_key, node_secret
from arena.messages import Alive, MatchOrder, Report
from matches.errors import BadInputError
from matches.ledger import recording
from matches.models import Match, NodeKey, Order, Worker
from matches.nodes import node_keys
from matches.operations import explain
from matches.store.auditing import Actor
from matches.tests import factories as make

pytestmark = pytest.mark.django_db
ACTOR = Actor("test")


def alive(node: str, key: str, *, incarnation: str = "forged", capability: str = "cpu") -> Alive:
    return Alive(node, incarnation, 1, [capability], {}, [], key)


def key_of_other(node: str) -> str:
    """Return the key that a node in quarantine has, which renames itself."""
    return node_secret(settings.SECRET_KEY, "reports", node, 1)


@pytest.fixture
def order(broker: Redis) -> MatchOrder:
    """Have node-1 play an order."""
    make.alive()
    order = make.ordered(make.planned(4))
    make.start(order)
    return order


def states() -> set[str]:
    return set(Match.objects.values_list("state", flat=True))


def describe_worker(now: datetime) -> str:
    explanation = explain.of_worker(Worker.objects.get(), now=now)
    return " ".join((explanation.summary, *explanation.waits_for, *explanation.notes))


def test_six_forged_signs_of_life_change_nothing(order: MatchOrder) -> None:
    before: dict[str, object] = {**Worker.objects.values().get()}
    for number in range(6):
        recording.record_report(
            alive(make.NODE, "7" * 64, incarnation=str(number)), now=make.later(1)
        )
    after: dict[str, object] = {**Worker.objects.values().get()}
    assert states() == {"running"}
    assert after == before | {"n_forged": 6, "forged_at": make.later(1)}
    assert "6 reports in its name without its key" in describe_worker(make.later(2))


@pytest.mark.parametrize("key", ["", "\ud800", "7" * 64, key_of_other("node-2")])
def test_no_report_counts_without_the_key_of_its_node(order: MatchOrder, key: str) -> None:
    for genuine in (
        alive("node-7", ""),
        make.finished(order),
        make.reported(order, [], is_last=True),
    ):
        forged: Report = msgspec.structs.replace(genuine, key=key)
        assert recording.record_report(forged, now=make.NOW).n_refused
    assert states() == {"running"}
    assert Order.objects.get().state == Order.State.PLAYING
    assert not Worker.objects.filter(node="node-7").exists()


def test_a_key_that_was_replaced_or_revoked_counts_no_more(order: MatchOrder) -> None:
    report = make.finished(order)
    node_keys.replace_secrets(make.NODE, actor=ACTOR, now=make.NOW)
    assert recording.record_report(report, now=make.NOW).n_refused
    fresh = make.finished(order)
    node_keys.revoke_node(make.NODE, actor=ACTOR, now=make.NOW)
    assert recording.record_report(fresh, now=make.NOW).n_refused
    assert states() == {"running"}


def test_a_play_node_is_no_gpu_worker_and_a_gpu_worker_no_play_node(order: MatchOrder) -> None:
    of_gpu = gpu_key(settings.SECRET_KEY)
    assert recording.record_report(
        alive(make.NODE, of_gpu, capability="gpu"), now=make.NOW
    ).n_refused
    assert recording.record_report(alive("gpu-1", of_gpu), now=make.NOW).n_refused
    own = make.key_of(make.NODE)
    assert recording.record_report(alive(make.NODE, own, capability="gpu"), now=make.NOW).n_refused
    assert not recording.record_report(
        alive("gpu-1", of_gpu, capability="gpu"), now=make.NOW
    ).n_refused
    both = msgspec.structs.replace(alive("gpu-2", of_gpu), capabilities=["gpu", "cpu"])
    assert recording.record_report(both, now=make.NOW).n_refused
    assert not Worker.objects.filter(node="gpu-2").exists()


def test_a_node_closes_no_order_of_another(order: MatchOrder) -> None:
    other = msgspec.structs.replace(
        make.reported(order, []), node="node-2", key=make.key_of("node-2")
    )
    recording.record_report(other, now=make.NOW)
    assert Order.objects.get().state == Order.State.PLAYING
    assert states() == {"running"}


def test_two_nodes_of_one_name_lose_nothing_and_are_shown(order: MatchOrder) -> None:
    second = make.ordered(make.planned(4, board="other"))
    for seconds in (1, 11, 21):
        make.alive(incarnation="twin", place="machine-2", now=make.later(seconds))
        make.start(second, incarnation="twin", now=make.later(seconds))
        make.alive(orders=[order.order], now=make.later(seconds))
    assert states() == {"running"}
    assert Worker.objects.get().incarnation == make.INCARNATION
    assert set(Order.objects.values_list("state", flat=True)) == {Order.State.PLAYING}
    assert "two nodes call themselves node-1: give each its own name" in describe_worker(
        make.later(22)
    )


def test_a_node_that_was_restarted_is_back_at_once(order: MatchOrder) -> None:
    make.alive(incarnation="second-life", now=make.later(1))
    assert Worker.objects.get().incarnation == "second-life"
    assert states() == {"pending"}


def test_a_node_that_moved_is_back_when_its_old_machine_is_silent(order: MatchOrder) -> None:
    make.alive(incarnation="second-life", place="machine-2", now=make.later(29))
    assert states() == {"running"}
    make.alive(incarnation="second-life", place="machine-2", now=make.later(31))
    assert Worker.objects.get().place == "machine-2"
    assert states() == {"pending"}
    assert "call themselves" not in describe_worker(make.later(32))


def test_machines_that_name_no_place_are_not_taken_for_one(order: MatchOrder) -> None:
    Worker.objects.update(place="")
    make.alive(incarnation="second-life", place="", now=make.later(1))
    assert states() == {"running"}


def test_a_node_that_nobody_admitted_does_not_exist() -> None:
    assert recording.record_report(alive("node-9", "7" * 64), now=make.NOW).n_refused
    assert not NodeKey.objects.exists()
    assert not Worker.objects.exists()


def test_only_the_head_reports_for_game_servers_and_for_nothing_else(order: MatchOrder) -> None:
    of_head = head_key(settings.SECRET_KEY)
    others = (gpu_key(settings.SECRET_KEY), make.key_of("node-2"), "")
    for key in others:
        report = alive("sim-1", key, capability="server")
        assert recording.record_report(report, now=make.NOW).n_refused
    for capability in ("cpu", "gpu"):
        report = alive("sim-1", of_head, capability=capability)
        assert recording.record_report(report, now=make.NOW).n_refused
    both = msgspec.structs.replace(
        alive("sim-1", of_head, capability="server"), capabilities=["server", "cpu"]
    )
    assert recording.record_report(both, now=make.NOW).n_refused
    assert not Worker.objects.filter(node="sim-1").exists()
    make.serve("sim-1", load={"cpu": 0.5})
    worker = Worker.objects.get(node="sim-1")
    assert (worker.game, worker.address) == ("skill_game", "ws://10.0.0.1:8081/sim-1")


def test_a_server_takes_no_name_of_another_kind_and_gives_none_away(order: MatchOrder) -> None:
    make.alive(node="gpu-1", capabilities=["gpu"])
    node_keys.revoke_node(make.key_of("node-2") and "node-2", actor=ACTOR, now=make.NOW)
    Worker.objects.create(
        node="node-2", slots=1, capabilities=["cpu"], first_seen_at=make.NOW, last_seen_at=make.NOW
    )
    for name in (make.NODE, "gpu-1", "node-2"):
        make.serve(name)
        assert Worker.objects.get(node=name).game == ""
        assert Worker.objects.get(node=name).n_forged == 1
    make.serve("sim-1")
    make.alive(node="sim-1", capabilities=["gpu"])
    make.alive(node="sim-1")
    assert Worker.objects.get(node="sim-1").capabilities == ["server"]
    with pytest.raises(BadInputError, match="'sim-1' is the name of a game server"):
        node_keys.add_node("sim-1", actor=ACTOR, now=make.NOW)


def test_a_server_has_no_orders_to_lose_and_no_rivals(order: MatchOrder) -> None:
    make.serve("sim-1", place="a")
    report = alive("sim-1", head_key(settings.SECRET_KEY), incarnation="b", capability="server")
    report = msgspec.structs.replace(report, game="othello", place="b")
    recording.record_report(report, now=make.later(1))
    worker = Worker.objects.get(node="sim-1")
    assert (worker.incarnation, worker.game, worker.rival_incarnation) == ("b", "othello", "")
    assert states() == {"running"}
