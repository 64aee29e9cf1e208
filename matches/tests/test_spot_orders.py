"""Orders of spot nodes by how long these live, and how many nodes are wished for."""

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings
from redis import Redis

from matches.ledger import relay
from matches.models import NodeRun, Tournament
from matches.nodes.desired_nodes import count_nodes, measure_desired_nodes
from matches.nodes.play_nodes import read_play_nodes
from matches.nodes.survival import (
    N_RUNS,
    Life,
    limit_order_s,
    measure_mean_life_s,
    read_order_limits_s,
)
from matches.operations.system.prometheus import export_metrics
from matches.operations.system.pushing import look_alone
from matches.tests import factories as make
from matches.tests.factories import NOW, later

SPOT = {"class": "spot"}
spans = st.floats(0.01, 1e6)


@given(st.lists(spans, min_size=1, max_size=50), st.floats(0.01, 1.0))
def test_no_more_than_the_share_is_thrown_away_whatever_the_lives(
    lives: list[float], share: float
) -> None:
    mean_life_s = measure_mean_life_s([[Life(life, True)] for life in lives])
    assert mean_life_s is not None
    order_s = limit_order_s(mean_life_s, share=share)
    # Each life ends in the middle of an order, all of which is lost.
    thrown_s = sum(life % order_s for life in lives)
    assert thrown_s <= share * sum(lives) * (1 + 1e-9)


@given(st.lists(spans, min_size=1, max_size=20), st.lists(spans, max_size=20))
def test_lives_that_go_on_make_the_mean_longer(over: list[float], alive: list[float]) -> None:
    ended = [[Life(life, True)] for life in over]
    mean_s = measure_mean_life_s(ended)
    with_alive = measure_mean_life_s([*ended, *([Life(life, False)] for life in alive)])
    assert mean_s is not None
    assert with_alive is not None
    assert with_alive >= mean_s
    assert measure_mean_life_s([[Life(life, False)] for life in alive]) is None


@given(st.floats(0.001, 100), st.floats(0, 1e5), st.integers(1, 64), st.booleans())
def test_an_order_of_a_spot_node_is_never_longer_than_its_limit_or_a_match_a_slot(
    match_s: float, longest_s: float, slots: int, is_networked: bool
) -> None:
    tournament = Tournament(n_planned=10**6, mean_match_s=match_s)
    sizes = [
        relay.compute_order_size(
            tournament, slots=slots, all_slots=slots, is_networked=is_networked, longest_s=limit_s
        )
        for limit_s in (None, longest_s)
    ]
    assert sizes[1] <= sizes[0]
    assert sizes[1] <= max(slots, longest_s / match_s * slots)


@pytest.mark.django_db
def test_orders_of_spot_nodes_shrink_with_their_lives_and_others_do_not(broker: Redis) -> None:
    for number in range(4):
        for machine_class in ("spot", "reserved"):
            NodeRun.objects.create(
                node=f"old-{machine_class}", incarnation=f"{number}", slots=2, began_at=NOW,
                machine_class=machine_class, heard_at=later(20), ended_at=later(20),
            )  # fmt: skip
    make.alive(labels=SPOT)
    make.alive(node="node-2", labels={"class": "reserved"})
    limits = {node.name: node.longest_s for node in read_play_nodes(now=NOW)}
    # 80 s in all, of four that are gone and one that has just begun.
    assert limits == {make.NODE: pytest.approx(0.05 * 20), "node-2": None}
    tournament = make.planned(4_000)
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=0.05)
    relay.send_pending_matches(now=NOW)
    assert {len(order.matches) for order in make.popped(broker)} == {40}
    assert {len(order.matches) for order in make.popped(broker, "node-2")} == {80}


@given(st.floats(0, 1e9), st.integers(1, 64), st.floats(1, 1e5), st.integers(0, 1000))
def test_desired_nodes_play_the_backlog_in_time_unless_that_takes_too_many(
    backlog_s: float, slots: int, within_s: float, most: int
) -> None:
    n_nodes = count_nodes(backlog_s, slots=slots, within_s=within_s, most=most)
    assert 0 <= n_nodes <= most
    assert n_nodes == most or n_nodes * slots * within_s >= backlog_s * (1 - 1e-9)
    assert (n_nodes == 0) == (backlog_s == 0 or most == 0)


@pytest.mark.django_db
def test_nothing_is_wished_for_when_nothing_is_planned(
    broker: Redis, client: Client, settings: Settings
) -> None:
    assert measure_desired_nodes(now=NOW).n_nodes == 0
    settings.BACKLOG_WITHIN_S = 10.0
    make.alive(slots=4)
    tournament = make.planned(400)
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=0.5)
    desired = measure_desired_nodes(now=NOW)
    assert desired == (5, 200.0, 4.0)
    state = look_alone(now=NOW)
    samples = {metric.name: metric.samples for metric in export_metrics(state, now=NOW)}
    assert samples["evalsite_desired_nodes"][0].value == 5
    assert client.get("/api/v1/system/").json()["desired_nodes"] == 5
    settings.MAX_DESIRED_NODES = 2
    assert measure_desired_nodes(now=NOW).n_nodes == 2
    Tournament.objects.filter(pk=tournament.pk).update(state=Tournament.State.PAUSED)
    assert measure_desired_nodes(now=NOW).n_nodes == 0


@pytest.mark.django_db
def test_without_a_node_alive_the_newest_that_was_says_how_many_slots(broker: Redis) -> None:
    make.alive(slots=3)
    assert measure_desired_nodes(now=later(3_600)).slots_per_node == 3.0


@pytest.mark.django_db
def test_a_spot_node_that_starts_again_and_again_does_not_shrink_the_orders_of_others() -> None:
    def run(node: str, number: int, life_s: float, *, is_over: bool) -> NodeRun:
        heard_at = later(life_s)
        return NodeRun(
            node=node, incarnation=f"{number}", slots=2, machine_class="spot", began_at=NOW,
            heard_at=heard_at, ended_at=heard_at if is_over else None,
        )  # fmt: skip

    sound = [run("node-2", 1, 36_000, is_over=False), run("node-3", 1, 18_000, is_over=True)]
    NodeRun.objects.bulk_create([*sound, run("node-3", 2, 18_000, is_over=False)])
    assert read_order_limits_s(["spot"])["spot"] == pytest.approx(0.05 * 54_000 / 0.5)
    NodeRun.objects.bulk_create(run("node-4", n, 5, is_over=True) for n in range(N_RUNS))
    # Those that live are seen behind it; all its lives weigh as one.
    assert read_order_limits_s(["spot"])["spot"] == pytest.approx(0.05 * (54_000 + 5) / 1)
