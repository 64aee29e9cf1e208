"""The relay and the sweep: rows first, messages after; nothing is lost or given up early."""

import pytest
from redis import Redis

from arena.message_tokens import mark_token
from arena.messages import Mark, Started
from arena.queues import play_queue
from matches import control, dispatch
from matches.errors import BrokerError
from matches.ledger import recorder_marks, recording, relay
from matches.ledger.sweep import give_up_lost_orders
from matches.models import Attempt, Match, Order, Tournament, Worker
from matches.nodes.play_nodes import ORDERS_PER_NODE
from matches.store.signing import derive_key
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


QUEUE = play_queue(make.NODE)
EMPTY: dict[str, set[str]] = {QUEUE: set()}


def _timed(tournament: Tournament, match_s: float) -> Tournament:
    """Let the length of a match be known."""
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=match_s)
    tournament.refresh_from_db()
    return tournament


def _states() -> set[str]:
    return set(Match.objects.values_list("state", flat=True))


def _marked(seconds: float) -> None:
    """Let a mark of that moment come through the reports queue."""
    at = make.later(seconds).isoformat()
    recording.record_report(
        Mark(at=at, token=mark_token(derive_key(), at)), now=make.later(seconds)
    )


def test_without_a_live_node_nothing_is_sent(broker: Redis) -> None:
    make.planned(10)
    assert relay.send_pending_matches(now=make.NOW) == 0
    make.alive()
    assert relay.send_pending_matches(now=make.later(31)) == 0
    assert _states() == {"pending"}


def test_orders_in_flight_are_capped_per_node(broker: Redis) -> None:
    _timed(make.planned(500, order_limit=20), 0.01)
    make.alive()
    make.alive(node="node-2")
    assert relay.send_pending_matches(now=make.NOW) == 2 * ORDERS_PER_NODE
    assert relay.send_pending_matches(now=make.NOW) == 0
    for node in (make.NODE, "node-2"):
        assert broker.llen(play_queue(node)) == ORDERS_PER_NODE


def test_the_node_with_the_least_work_per_slot_is_sent_the_next_order(broker: Redis) -> None:
    tournament = _timed(make.planned(4_000), 0.05)
    make.alive(slots=1)
    make.start(make.ordered(tournament, 40))
    make.alive(node="node-2", slots=4)
    make.start(make.ordered(tournament, 40, node="node-2"))
    relay.send_pending_matches(now=make.NOW)
    new = Order.objects.order_by("pk").values_list("queue", "n_matches")[2:]
    assert list(new) == [("play.node-2", 160), (QUEUE, 40)]


def test_a_node_in_quarantine_or_silent_is_sent_nothing(broker: Redis) -> None:
    make.planned(500)
    make.alive(node="node-2", now=make.later(-31))
    make.alive(node="node-3")
    Worker.objects.filter(node="node-3").update(quarantined_at=make.NOW)
    make.alive()
    relay.send_pending_matches(now=make.NOW)
    assert {order.queue for order in Order.objects.all()} == {QUEUE}


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
    sizes = {}
    for mean in (None, 100.0, 0.05, 0.0):
        tournament.mean_match_s = mean
        sizes[mean] = relay.compute_order_size(tournament, slots=2, all_slots=2)
    assert sizes == {None: 2, 100.0: 2, 0.05: 80, 0.0: relay.MAX_ORDER}


def test_while_the_length_of_a_match_is_not_known_a_node_gets_one_per_slot(broker: Redis) -> None:
    slow = make.planned(500, board="slow")
    make.planned(500, board="other")
    make.alive()
    make.alive(node="node-2", slots=3)
    for node in (make.NODE, "node-2"):
        relay.send_pending_matches(now=make.NOW)
        for order in make.popped(broker, node):
            make.start(order, node=node)
    relay.send_pending_matches(now=make.NOW)
    orders = Order.objects.filter(tournament=slow).order_by("queue")
    assert [(order.queue, order.n_matches) for order in orders] == [(QUEUE, 2), ("play.node-2", 3)]
    assert Order.objects.exclude(tournament=slow).count() == 2


def test_a_new_tournament_begins_before_what_waits(broker: Redis) -> None:
    _timed(make.planned(4_000), 0.05)
    make.alive()
    make.alive(node="node-2")
    relay.send_pending_matches(now=make.NOW)
    make.start(make.popped(broker)[0])
    make.start(make.popped(broker, "node-2")[0], node="node-2", now=make.later(-1))
    relay.send_pending_matches(now=make.NOW)
    assert broker.llen(QUEUE) == broker.llen("play.node-2") == 1
    small = make.planned(40, board="small")
    assert relay.send_pending_matches(now=make.NOW) == 1
    first, _ = make.popped(broker, "node-2")
    assert Order.objects.get(tournament=small).uuid.hex == first.order
    assert relay.send_pending_matches(now=make.later(1)) == 0, (
        "it has begun: the rest goes by shares"
    )


def test_the_last_matches_are_divided_by_slots() -> None:
    tournament = make.planned(80)
    tournament.mean_match_s = 0.05
    sizes = [relay.compute_order_size(tournament, slots=slots, all_slots=4) for slots in (1, 3)]
    assert sizes == [10, 30]


def test_orders_of_networks_are_larger_because_their_matches_share_forwards() -> None:
    tournament = make.planned(500)
    sizes = {}
    for mean in (None, 100.0, 0.5, 0.05):
        tournament.mean_match_s = mean
        sizes[mean] = relay.compute_order_size(
            tournament, slots=10, all_slots=10, is_networked=True
        )
    assert sizes == {None: 500, 100.0: 10, 0.5: 200, 0.05: 500}


def test_an_order_that_the_broker_refuses_is_taken_back(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: object) -> None:
        raise BrokerError("no")

    make.planned(10)
    make.alive()
    monkeypatch.setattr(dispatch, "publish_order", refuse)
    assert relay.send_pending_matches(now=make.NOW) == 0
    assert _states() == {"pending"}
    assert not Order.objects.filter(state__in=Order.OPEN).exists()
    assert not Attempt.objects.exists()
    assert set(Match.objects.values_list("attempt", flat=True)) == {0}


def test_tournaments_share_the_nodes(broker: Redis) -> None:
    _timed(make.planned(500, board="a"), 0.01)
    _timed(make.planned(500, board="b"), 0.01)
    make.alive()
    make.alive(node="node-2")
    relay.send_pending_matches(now=make.NOW)
    per_tournament = [Order.objects.filter(tournament=t).count() for t in Tournament.objects.all()]
    assert per_tournament == [3, 3]


def test_an_order_expires_only_when_the_reports_before_its_deadline_are_recorded(
    broker: Redis,
) -> None:
    make.start(make.ordered(make.planned(4)))
    assert give_up_lost_orders(now=make.later(40), waiting=EMPTY) == 0
    _marked(29)
    assert give_up_lost_orders(now=make.later(33), waiting=EMPTY) == 0
    _marked(31)
    assert give_up_lost_orders(now=make.later(33), waiting=EMPTY) == 1
    assert _states() == {"pending"}
    assert set(Attempt.objects.values_list("ending", "reason", "node")) == {
        ("expired", "expired", make.NODE)
    }


def test_nothing_expires_while_the_recorder_lags(broker: Redis) -> None:
    make.start(make.ordered(make.planned(4)))
    _marked(40)
    assert give_up_lost_orders(now=make.later(46), waiting=EMPTY) == 0
    assert give_up_lost_orders(now=make.later(44), waiting=EMPTY) == 1


def test_reports_move_the_deadline_but_never_past_the_cap(broker: Redis) -> None:
    order = make.ordered(make.planned(4, match_s=5))
    make.start(order)
    make.alive(orders=[order.order], now=make.later(10))
    assert Order.objects.get().deadline_at == make.later(40)
    for _ in range(2):
        recording.record_report(make.reported(order, [], is_last=False), now=make.later(45))
    assert Order.objects.get().deadline_at == make.later(4 * 5 + 30)


def test_an_order_is_held_for_hours_at_most(broker: Redis) -> None:
    tournament = make.planned(1_000)
    for mean_s, n_matches, most_s in ((0.01, 400, 1_910), (100.0, 4, 2_430), (None, 1, 630)):
        Tournament.objects.update(mean_match_s=mean_s)
        order = make.ordered(tournament, n_matches)
        make.start(order)
        cap = Order.objects.get(uuid=order.order).hard_deadline_at
        assert cap == make.later(most_s)


def test_an_order_that_vanished_from_its_queue_is_sent_again(broker: Redis) -> None:
    make.ordered(make.planned(4))
    for seconds, n_lost in ((1, 0), (3, 0), (5, 1)):
        make.alive(now=make.later(seconds))
        _marked(seconds)
        assert give_up_lost_orders(now=make.later(seconds), waiting=EMPTY) == n_lost
    assert _states() == {"pending"}


def test_an_order_is_not_lost_before_its_node_was_heard_of(broker: Redis) -> None:
    make.ordered(make.planned(4))
    make.alive(now=make.later(1))
    for seconds, n_lost in ((1, 0), (5, 0), (9, 0)):
        make.alive(node="node-2", now=make.later(seconds))
        _marked(seconds)
        assert give_up_lost_orders(now=make.later(seconds), waiting=EMPTY) == n_lost
    make.alive(now=make.later(11))
    assert give_up_lost_orders(now=make.later(11), waiting=EMPTY) == 1
    assert _states() == {"pending"}


def test_an_order_is_lost_in_the_end_though_its_node_is_silent(broker: Redis) -> None:
    make.ordered(make.planned(4))
    make.alive()
    for seconds, n_lost in ((1, 0), (16, 0), (17, 1)):
        _marked(seconds)
        assert give_up_lost_orders(now=make.later(seconds), waiting=EMPTY) == n_lost


def test_an_order_that_waits_in_its_queue_is_not_given_up(broker: Redis) -> None:
    order = make.ordered(make.planned(4)).order
    for seconds, ids in ((1, ()), (3, (order,)), (5, (order,)), (6, ()), (8, ())):
        make.alive(now=make.later(seconds))
        _marked(seconds)
        assert give_up_lost_orders(now=make.later(seconds), waiting={QUEUE: ids}) == 0
    assert _states() == {"queued"}


def test_of_two_orders_the_one_that_vanished_is_given_up(broker: Redis) -> None:
    tournament = make.planned(8)
    orders = [make.ordered(tournament, 4).order for _ in range(2)]
    for seconds, n_lost in ((1, 0), (5, 1)):
        make.alive(now=make.later(seconds))
        _marked(seconds)
        assert give_up_lost_orders(now=make.later(seconds), waiting={QUEUE: orders[:1]}) == n_lost
    assert Order.objects.get(state=Order.State.LOST).uuid.hex == orders[1]


def test_what_waits_for_a_lost_node_goes_to_another_at_once(broker: Redis) -> None:
    _timed(make.planned(8), 0.01)
    make.alive(node="gone")
    relay.send_pending_matches(now=make.NOW)
    assert broker.llen("play.gone") == 2
    make.alive(now=make.later(31))
    _marked(31)
    control.do_duties(now=make.later(31))
    assert not broker.exists("play.gone")
    assert {order.queue for order in Order.objects.filter(Order.is_open())} == {QUEUE}
    # It was never begun: whatever number of nodes is lost so, no match becomes void.
    assert set(Attempt.objects.values_list("ending", "node")) == {("interrupted", "")}


def test_a_node_that_begins_anew_goes_on_with_its_queue(broker: Redis) -> None:
    _timed(make.planned(8), 0.01)
    make.alive()
    relay.send_pending_matches(now=make.NOW)
    make.alive(incarnation="second-life", now=make.later(20))
    _marked(31)
    control.do_duties(now=make.later(31))
    assert [order.state for order in Order.objects.all()] == ["queued", "queued"]
    assert broker.llen(QUEUE) == 2


def test_an_order_that_waits_is_moved_to_a_node_that_idles(broker: Redis) -> None:
    tournament = _timed(make.planned(8, order_limit=4), 0.01)
    make.alive()
    first, second = make.sent(broker)
    dispatch.publish_order(second, QUEUE)
    make.start(first)
    make.alive(node="node-2", capabilities=["torch"])
    make.alive(node="node-3")
    assert relay.send_pending_matches(now=make.NOW) == 0
    assert [order.order for order in make.popped(broker, "node-3")] == [second.order]
    assert not broker.exists(QUEUE)
    make.start(second, node="node-3")
    for order in (first, second):
        assert recording.record_report(make.finished(order), now=make.NOW).n_closed == 4
    tournament.refresh_from_db()
    assert (tournament.n_done, tournament.n_retried) == (8, 0)


def test_an_order_that_its_node_has_just_taken_is_not_moved(broker: Redis) -> None:
    _timed(make.planned(8, order_limit=4), 0.01)
    make.alive()
    make.sent(broker)
    make.alive(node="node-2")
    assert relay.send_pending_matches(now=make.NOW) == 0
    assert {order.queue for order in Order.objects.all()} == {QUEUE}
    assert not broker.exists("play.node-2")


def test_a_forged_mark_is_refused(broker: Redis) -> None:
    recording.record_report(Mark(at=make.NOW.isoformat(), token="forged"), now=make.NOW)
    assert recorder_marks.find_recorded_until(now=make.NOW) is None


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
        node=make.NODE,
        incarnation=make.INCARNATION,
        order=order.order,
        token="forged",
        key=make.key_of(make.NODE),
    )
    recording.record_report(forged, now=make.NOW)
    assert _states() == {"queued"}


def test_new_tournaments_that_keep_coming_let_the_others_play(broker: Redis) -> None:
    old = make.planned(40, board="old")
    for number in range(8):
        now = make.later(number)
        make.planned(4, board=f"new-{number}", seed=number)
        make.alive(now=now)
        relay.send_pending_matches(now=now)
        (order,) = make.popped(broker, most=1)
        make.start(order, now=now)
        recording.record_report(make.finished(order), now=now)
    old.refresh_from_db()
    assert old.n_done >= 2  # its share of sixteen matches, among nine
