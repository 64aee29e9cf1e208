"""Who can play a match: networks in the player need torch, those on the gpu queue a gpu worker."""

from pathlib import Path

import pytest
from django.db import transaction
from redis import Redis

from arena.messages import Ending, MatchOrder, MatchOrderRow, Reason, ResultRow
from arena.needs import Needs
from matches.artifacts.agents import register_spelled_agent
from matches.board import progress
from matches.errors import BadInputError
from matches.ledger import planning, recording, relay
from matches.models import Agent, Attempt, Match, Order, Tournament
from matches.store import selectors, signing
from matches.tests import factories as make
from matches.tests.weights import added, ready, verdict

pytestmark = pytest.mark.django_db
GAME = "connect_four"


@pytest.fixture
def mixed(broker: Redis, tmp_path: Path) -> Tournament:
    """Return a planned tournament of one plain agent, one local and one gpu network."""
    agents = [
        register_spelled_agent("random", game=GAME),
        ready(tmp_path, "small", seed=1),
        ready(tmp_path, "big", seed=2, placement="gpu"),
    ]
    tournament = make.planned(12, game=GAME, agents=agents, order_limit=1)
    Tournament.objects.update(mean_match_s=0.01)
    return tournament


def _orders(broker: Redis, *nodes: str) -> list[tuple[str, MatchOrder]]:
    relay.send_pending_matches(now=make.NOW)
    return [(node, order) for node in nodes or (make.NODE,) for order in make.popped(broker, node)]


def _kinds(order: MatchOrder) -> set[str]:
    pks = [row.match for row in order.matches]
    return set(Match.objects.filter(pk__in=pks).values_list("needs", flat=True))


def test_planning_writes_what_each_match_needs(mixed: Tournament) -> None:
    names = dict(Agent.objects.values_list("pk", "name"))
    needs = {
        (frozenset(names[agent] for agent in match.agent_ids), match.needs)
        for match in Match.objects.all()
    }
    assert needs == {
        (frozenset({"random", "small"}), "torch"),
        (frozenset({"random", "big"}), "cpu+gpu"),
        (frozenset({"small", "big"}), "torch+gpu"),
    }


def test_an_order_holds_matches_of_one_need_and_goes_to_who_can_play_them(
    broker: Redis, mixed: Tournament
) -> None:
    make.alive(node="a", capabilities=["cpu"])
    make.alive(node="b", capabilities=["torch"])
    make.alive(node="gpu-1", capabilities=["gpu"])
    sent = _orders(broker, "a", "b")
    assert {(node, *_kinds(order)) for node, order in sent} == {
        ("b", "torch"),
        ("b", "torch+gpu"),
        ("a", "cpu+gpu"),
    }
    assert {(order.queue) for order in Order.objects.all()} == {"play.a", "play.b"}


def test_an_order_says_where_each_network_runs_and_where_its_file_is(
    broker: Redis, mixed: Tournament
) -> None:
    verdict_of = {a.checkpoint_id: a for a in Agent.objects.exclude(checkpoint=None)}
    order = make.ordered(mixed, needs=Needs("torch+gpu"))
    assert sorted(agent.placement for agent in order.agents) == ["gpu", "local"]
    for agent in order.agents:
        assert verdict_of[agent.checkpoint].placement == agent.placement
        path = signing.checkpoint_path(agent.checkpoint)
        assert agent.source == signing.sign_link("GET", path, now=make.NOW)
    plain = make.ordered(mixed, needs=Needs("torch")).agents
    assert [a.source for a in plain if a.policy == "random"] == [""]


def test_a_recurrent_network_says_how_much_state_travels(broker: Redis, tmp_path: Path) -> None:
    agent = added(tmp_path, "gru")
    verdict(agent.checkpoint, state_size=64)
    tournament = make.planned(2, game=GAME, agents=["random", agent])
    sizes = {a.policy: a.state_size for a in make.ordered(tournament, needs=Needs("torch")).agents}
    assert sizes == {"random": 0, "network": 64}


def test_local_networks_wait_for_a_node_with_torch(broker: Redis, mixed: Tournament) -> None:
    make.alive(capabilities=["cpu"])
    make.alive(node="gpu-1", capabilities=["gpu"])
    assert {kind for _, order in _orders(broker) for kind in _kinds(order)} == {"cpu+gpu"}
    assert selectors.describe_missing(mixed, now=make.NOW) == "a play node with torch"


def test_networks_on_the_gpu_queue_wait_for_a_gpu_worker_and_cost_no_attempts(
    broker: Redis, mixed: Tournament
) -> None:
    make.alive(capabilities=["cpu", "torch"])
    sent = _orders(broker)
    assert {kind for _, order in sent for kind in _kinds(order)} == {"torch"}
    waiting = Match.objects.filter(needs__endswith="gpu")
    assert set(waiting.values_list("state", "attempt")) == {("pending", 0)}
    assert "a gpu worker: none is alive" in selectors.describe_missing(mixed, now=make.NOW)
    make.alive(node="gpu-1", capabilities=["gpu"])
    for _, order in sent:
        recording.record_report(make.finished(order), now=make.NOW)
    assert {kind for _, order in _orders(broker) for kind in _kinds(order)} == {
        "cpu+gpu",
        "torch+gpu",
    }
    assert selectors.describe_missing(mixed, now=make.NOW) == ""


def test_each_node_is_sent_what_it_can_play(broker: Redis, tmp_path: Path) -> None:
    make.planned(500, board="plain")
    small = ready(tmp_path, "small")
    make.planned(500, game=GAME, board="nets", agents=["random", small])
    Tournament.objects.update(mean_match_s=0.01, order_limit=20)
    make.alive(node="a", capabilities=["cpu"])
    make.alive(node="b", capabilities=["cpu"])
    make.alive(node="c", capabilities=["torch"])
    sent = [(node, *_kinds(order)) for node, order in _orders(broker, "a", "b", "c")]
    assert sent == [(node, "cpu") for node in "aaabbb"] + [("c", "torch")] * 3


def test_gpu_workers_are_no_play_nodes(broker: Redis) -> None:
    make.planned(12)
    make.alive(node="gpu-1", capabilities=["gpu"])
    assert relay.send_pending_matches(now=make.NOW) == 0
    assert progress.count_nodes(now=make.NOW) == {"nodes": "0", "slots": "0"}
    make.alive()
    assert [w.node for w in selectors.list_alive_workers(now=make.NOW)] == [make.NODE]


def _gpu_lost(row: MatchOrderRow) -> ResultRow:
    return make.result(row, ending=Ending.INTERRUPTED, reason=Reason.GPU_LOST)


def test_a_lost_gpu_is_an_interruption_and_interruptions_are_capped(
    broker: Redis, mixed: Tournament
) -> None:
    for n in range(20):
        order = make.ordered(mixed, 1, needs=Needs("cpu+gpu"))
        states = set(Match.objects.values_list("state", flat=True))
        make.start(order)
        recording.record_report(make.finished(order, _gpu_lost), now=make.NOW)
        assert (n, states) == (n, {"queued", "pending"})
    lost = Match.objects.get(state=Match.State.VOID)
    assert lost.void_reason == "gpu_lost"
    assert set(lost.attempts.values_list("ending", flat=True)) == {Attempt.Ending.INTERRUPTED}
    assert lost.attempts.count() == 20


def test_a_refused_checkpoint_cannot_enter(broker: Redis, tmp_path: Path) -> None:
    agent = added(tmp_path, "net")
    verdict(agent.checkpoint, refusal="NaN weights")
    with (
        pytest.raises(BadInputError, match="checkpoint of 'net' was refused: NaN weights"),
        transaction.atomic(),
    ):
        make.scheduled(12, game=GAME, agents=["random", agent])
    assert not Tournament.objects.exists()


def test_planning_again_after_a_crash_keeps_what_matches_need(
    mixed: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs = list(Match.objects.order_by("sequence").values_list("needs", flat=True))
    agents = list(mixed.agents.order_by("entrant__position"))
    monkeypatch.setattr(planning, "SLICE", 5)
    again = make.planned(12, game=GAME, board="again", agents=agents)
    planned = Match.objects.filter(tournament=again).order_by("sequence")
    assert list(planned.values_list("needs", flat=True)) == needs
