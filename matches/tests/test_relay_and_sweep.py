"""The relay and the sweep: rows first, messages after; nothing is lost or given up early."""

import pytest
from redis import Redis

from arena.messages import Mark, Started, mark_token
from matches import dispatch
from matches.errors import BrokerError
from matches.models import Attempt, Match, Order, Tournament, Worker
from matches.services import marks, recording, relay
from matches.services.sweep import sweep
from matches.tests import factories as make
from matches.tokens import secret

pytestmark = pytest.mark.django_db


CPU_QUEUE = dispatch.PLAY_QUEUES[0]


def _states() -> set[str]:
    return set(Match.objects.values_list("state", flat=True))


def _marked(seconds: float) -> None:
    """Let a mark of that moment come through the reports queue."""
    at = make.later(seconds).isoformat()
    recording.record(Mark(at=at, token=mark_token(secret(), at)), now=make.later(seconds))


def test_without_a_live_node_nothing_is_sent(broker: Redis) -> None:
    make.planned(10)
    assert relay.relay(now=make.NOW) == 0
    make.alive()
    assert relay.relay(now=make.later(31)) == 0
    assert _states() == {"pending"}


def test_orders_in_flight_are_capped_per_node(broker: Redis) -> None:
    make.planned(500)
    make.alive()
    make.alive(node="node-2")
    assert relay.relay(now=make.NOW) == 2 * relay.ORDERS_PER_NODE
    assert relay.relay(now=make.NOW) == 0
    assert broker.llen(CPU_QUEUE) == 2 * relay.ORDERS_PER_NODE


def test_an_order_carries_all_that_is_needed_and_no_more(broker: Redis) -> None:
    make.planned(10, seed=4, move_s=3.0)
    make.alive()
    order = make.sent(broker)[0]
    match = Match.objects.get(pk=order.matches[0].match)
    agents = [order.agents[index] for index in order.matches[0].seats]
    levels = [f"level:{agent.parameters['level']}" for agent in agents]
    assert levels == [seat.agent.name for seat in match.seat_rows.order_by("seat")]
    assert (match.state, match.attempt, match.game_seed) == (
        Match.State.QUEUED,
        1,
        order.matches[0].game_seed,
    )
    assert (order.game, order.limits.move_s, order.faults) == ("skill_game", 3.0, None)


def test_orders_grow_to_the_work_that_they_aim_at(broker: Redis) -> None:
    tournament = make.planned(4_000)
    cluster = relay.Cluster(n_nodes=1, n_slots=2)
    sizes = {}
    for mean in (None, 100.0, 0.05, 0.0):
        tournament.mean_match_s = mean
        sizes[mean] = relay.order_size(tournament, cluster)
    assert sizes == {None: 64, 100.0: 1, 0.05: 80, 0.0: relay.MAX_ORDER}


def test_orders_of_networks_are_larger_because_their_matches_share_forwards() -> None:
    tournament = make.planned(500)
    cluster = relay.Cluster(n_nodes=1, n_slots=10)
    sizes = {}
    for mean in (None, 100.0, 0.5, 0.05):
        tournament.mean_match_s = mean
        sizes[mean] = relay.order_size(tournament, cluster, is_networked=True)
    assert sizes == {None: 500, 100.0: 1, 0.5: 200, 0.05: 500}


def test_an_order_that_the_broker_refuses_is_taken_back(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise BrokerError("no")

    make.planned(10)
    make.alive()
    monkeypatch.setattr(dispatch, "publish_order", refuse)
    assert relay.relay(now=make.NOW) == 0
    assert _states() == {"pending"}
    assert not Order.objects.filter(state__in=Order.OPEN).exists()
    assert not Attempt.objects.exists()


def test_tournaments_share_the_nodes(broker: Redis) -> None:
    make.planned(500, board="a")
    make.planned(500, board="b")
    make.alive()
    make.alive(node="node-2")
    relay.relay(now=make.NOW)
    per_tournament = [Order.objects.filter(tournament=t).count() for t in Tournament.objects.all()]
    assert per_tournament == [3, 3]


def test_an_order_expires_only_when_the_reports_before_its_deadline_are_recorded(
    broker: Redis,
) -> None:
    make.start(make.ordered(make.planned(4)))
    assert sweep(now=make.later(40), n_waiting={CPU_QUEUE: 0}) == 0
    _marked(29)
    assert sweep(now=make.later(33), n_waiting={CPU_QUEUE: 0}) == 0
    _marked(31)
    assert sweep(now=make.later(33), n_waiting={CPU_QUEUE: 0}) == 1
    assert _states() == {"pending"}
    assert set(Attempt.objects.values_list("ending", "reason", "node")) == {
        ("expired", "expired", make.NODE)
    }


def test_nothing_expires_while_the_recorder_lags(broker: Redis) -> None:
    make.start(make.ordered(make.planned(4)))
    _marked(40)
    assert sweep(now=make.later(46), n_waiting={CPU_QUEUE: 0}) == 0
    assert sweep(now=make.later(44), n_waiting={CPU_QUEUE: 0}) == 1


def test_reports_move_the_deadline_but_never_past_the_cap(broker: Redis) -> None:
    order = make.ordered(make.planned(4, match_s=5))
    make.start(order)
    make.alive(orders=[order.order], now=make.later(10))
    assert Order.objects.get().deadline_at == make.later(40)
    for _ in range(2):
        recording.record(make.reported(order, [], is_last=False), now=make.later(45))
    assert Order.objects.get().deadline_at == make.later(4 * 5 + 30)


def test_an_order_that_vanished_from_its_queue_is_sent_again(broker: Redis) -> None:
    make.ordered(make.planned(4))
    for seconds, n_lost in ((1, 0), (3, 0), (5, 1)):
        _marked(seconds)
        assert sweep(now=make.later(seconds), n_waiting={CPU_QUEUE: 0}) == n_lost
    assert _states() == {"pending"}


def test_an_order_is_not_lost_before_every_node_that_may_have_it_was_heard_of(
    broker: Redis,
) -> None:
    make.ordered(make.planned(4))
    make.alive(now=make.later(1))
    make.alive(node="gpu-1", capabilities=["gpu"])
    for seconds, n_lost in ((1, 0), (5, 0), (9, 0)):
        _marked(seconds)
        assert sweep(now=make.later(seconds), n_waiting={CPU_QUEUE: 0}) == n_lost
    make.alive(now=make.later(11))
    assert sweep(now=make.later(11), n_waiting={CPU_QUEUE: 0}) == 1
    assert _states() == {"pending"}


def test_an_order_is_lost_in_the_end_though_a_node_is_silent(broker: Redis) -> None:
    make.ordered(make.planned(4))
    make.alive()
    for seconds, n_lost in ((1, 0), (16, 0), (17, 1)):
        _marked(seconds)
        assert sweep(now=make.later(seconds), n_waiting={CPU_QUEUE: 0}) == n_lost


def test_an_order_that_was_overtaken_waits_for_its_node_too(broker: Redis) -> None:
    tournament = make.planned(8)
    make.ordered(tournament, 4)
    make.alive()
    make.alive(node="node-2", now=make.later(1))
    make.start(make.ordered(tournament, 4), node="node-2", now=make.later(1))
    _marked(9)
    assert sweep(now=make.later(9), n_waiting={CPU_QUEUE: 5}) == 0
    for node in (make.NODE, "node-2"):
        make.alive(node=node, now=make.later(10))
    _marked(10)
    assert sweep(now=make.later(10), n_waiting={CPU_QUEUE: 5}) == 1


def test_an_order_that_waits_in_its_queue_is_not_given_up(broker: Redis) -> None:
    make.ordered(make.planned(4))
    for seconds, n_waiting in ((1, 0), (3, 1), (5, 1), (6, 0), (8, 0)):
        _marked(seconds)
        assert sweep(now=make.later(seconds), n_waiting={CPU_QUEUE: n_waiting}) == 0
    assert _states() == {"queued"}


def test_an_order_that_a_later_one_overtook_was_lost(broker: Redis) -> None:
    tournament = make.planned(8)
    make.ordered(tournament, 4)
    make.start(make.ordered(tournament, 4), now=make.NOW)
    for seconds, n_lost in ((2, 0), (4, 1)):
        _marked(seconds)
        assert sweep(now=make.later(seconds), n_waiting={CPU_QUEUE: 5}) == n_lost


def test_a_forged_mark_is_refused(broker: Redis) -> None:
    recording.record(Mark(at=make.NOW.isoformat(), token="forged"), now=make.NOW)
    assert marks.recorded_until(now=make.NOW) is None


def test_a_new_incarnation_gives_the_old_ones_orders_back_at_once(broker: Redis) -> None:
    order = make.ordered(make.planned(4))
    make.alive()
    make.start(order)
    make.alive(orders=[order.order])
    assert _states() == {"running"}
    make.alive(incarnation="second-life")
    assert _states() == {"pending"}
    assert Worker.objects.get().incarnation == "second-life"


def test_a_start_without_its_token_is_refused(broker: Redis) -> None:
    order = make.ordered(make.planned(4))
    forged = Started(
        node=make.NODE, incarnation=make.INCARNATION, order=order.order, token="forged"
    )
    recording.record(forged, now=make.NOW)
    assert _states() == {"queued"}
