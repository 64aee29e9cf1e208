"""Matches of games that game servers play go to those that are alive and have room, and no more."""

from collections import Counter

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from redis import Redis

from arena.credentials import pass_key
from arena.errors import UnknownNameError
from arena.games import registry as games
from arena.messages import MatchOrder
from arena.passes import check_pass
from matches.ledger import quarantine, recording, relay
from matches.models import Match, Order, Tournament, Worker
from matches.operations import explain
from matches.operations.system import sampling
from matches.store import selectors
from matches.store.auditing import Actor
from matches.store.game_servers import (
    MAX_PAUSE_S,
    GameServer,
    ServerPool,
    compute_pause,
    deal_matches,
)
from matches.tests import factories as make
from matches.tests import served

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _served(monkeypatch: pytest.MonkeyPatch, broker: Redis) -> None:
    del broker
    served.let_servers_play(monkeypatch)


def planned(n: int = 40, **options: object) -> Tournament:
    """Return a tournament of quick matches whose length is known."""
    tournament = make.planned(n, **options)
    Tournament.objects.filter(pk=tournament.pk).update(mean_match_s=0.01)
    tournament.refresh_from_db()
    return tournament


def counts_of(order: MatchOrder) -> dict[str, int]:
    """Return how many matches of an order each server plays."""
    return dict(Counter(served.server_of(order, row) for row in order.matches))


def count_free(now: object = make.NOW) -> int:
    """Return the free slots of all servers."""
    pool = ServerPool(now=now)  # type: ignore[arg-type]
    return sum(server.n_free for server in pool.list_free(games.get("skill_game").spec))


def test_what_matches_need_says_that_servers_play_them(monkeypatch: pytest.MonkeyPatch) -> None:
    planned()
    assert set(Match.objects.values_list("needs", flat=True)) == {"cpu+server"}


def test_without_a_server_nothing_is_sent(broker: Redis) -> None:
    planned()
    make.alive()
    assert make.sent(broker) == []
    make.serve()
    assert [len(order.matches) for order in make.sent(broker)] == [4]


@pytest.mark.parametrize(
    "more",
    [
        {"game": "othello"},
        {"rules": "2"},
        {"address": "http://10.0.0.1"},
        {"now": make.later(-11)},
    ],
)
def test_a_server_of_another_kind_or_silent_is_sent_nothing(
    broker: Redis, more: dict[str, object]
) -> None:
    planned()
    make.alive()
    make.serve(**more)  # type: ignore[arg-type]
    assert make.sent(broker) == []


def test_servers_are_named_by_address_and_pass_and_dealt_to_in_proportion(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve("sim-1", slots=2)
    make.serve("sim-2", slots=6)
    (order,) = make.sent(broker)
    assert counts_of(order) == {"sim-1": 2, "sim-2": 6}
    first = order.servers[0]
    assert (first.name, first.address) == ("sim-1", "ws://10.0.0.1:8081/sim-1")
    key = pass_key(settings.SECRET_KEY)
    check_pass(key, first.token, "sim-1", now=make.later(3_600).timestamp())
    # Both begin at once: the larger one is not first in a row.
    assert set(order.served_by[:4]) == {0, 1}


def test_no_more_is_sent_than_slots_are_free_until_matches_have_ended(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve(slots=8)
    (order,) = make.sent(broker)
    assert (len(order.matches), count_free(), make.sent(broker)) == (8, 0, [])
    make.start(order)
    some = [served.honest(row, server="sim-1") for row in order.matches[:3]]
    recording.record_report(make.reported(order, some, is_last=False), now=make.NOW)
    assert count_free() == 3
    (second,) = make.sent(broker)
    assert len(second.matches) == 3
    rest = [served.honest(row, server="sim-1") for row in order.matches[3:]]
    recording.record_report(make.reported(order, rest), now=make.NOW)
    assert count_free() == 5


def test_nodes_share_the_slots_of_servers(broker: Redis) -> None:
    planned(400)
    make.alive(slots=1)
    make.alive(node="node-2", slots=3)
    make.serve(slots=40)
    relay.send_pending_matches(now=make.NOW)
    sizes = dict(Order.objects.values_list("queue", "n_matches"))
    assert sizes == {"play.node-1": 10, "play.node-2": 30}


def test_an_order_that_is_lost_or_withdrawn_takes_no_slots(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve()
    relay.send_pending_matches(now=make.NOW)
    assert count_free() == 0
    relay.withdraw_order(Order.objects.get(), now=make.NOW)
    assert count_free() == 4


def test_an_order_of_an_ordinary_game_costs_no_query_more(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    make.planned(40)
    make.alive()

    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            orders = make.sent(broker)
            assert [len(order.servers) for order in orders] == [0]
        sql = " ".join(query["sql"] for query in queries)
        assert '"matches_order"."servers" FROM' not in sql
        assert '"matches_worker"."game" = ' not in sql
        return len(queries)

    n_queries()  # what is kept of a tournament is read
    Order.objects.update(state=Order.State.CLOSED)
    before = n_queries()
    make.serve()
    Order.objects.update(state=Order.State.CLOSED)
    assert n_queries() == before


def test_results_say_which_server_played(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve("sim-1", slots=2)
    make.serve("sim-2", slots=2)
    (order,) = make.sent(broker)
    assert served.play(order).n_closed == 4
    servers = {
        match.pk: match.attempts.get().server for match in Match.objects.filter(state="done")
    }
    assert servers == {row.match: served.server_of(order, row) for row in order.matches}


def test_a_result_that_names_no_server_gets_the_one_that_it_was_dealt_to(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve()
    (order,) = make.sent(broker)
    make.start(order)
    recording.record_report(make.finished(order, served.honest), now=make.NOW)
    done = Match.objects.filter(state="done")
    assert {match.attempts.get().server for match in done} == {"sim-1"}


@pytest.mark.parametrize("name", ["sim-2", "sim-9", "node-1"])
def test_a_result_of_a_server_that_did_not_have_the_match_is_refused(
    broker: Redis, name: str
) -> None:
    planned()
    make.alive()
    make.serve("sim-1", slots=2)
    make.serve("sim-2", slots=2)
    (order,) = make.sent(broker)
    make.start(order)
    row = next(row for row in order.matches if served.server_of(order, row) == "sim-1")
    report = make.reported(order, [served.honest(row, server=name)], is_last=False)
    recorded = recording.record_report(report, now=make.NOW)
    assert (recorded.n_closed, recorded.n_refused) == (0, 1)
    assert Match.objects.get(pk=row.match).state == Match.State.RUNNING


def test_a_server_named_for_an_ordinary_game_is_refused(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    order = make.ordered(make.planned(4))
    make.start(order)
    report = make.finished(order, lambda row: served.honest(row, server="sim-1"))
    assert recording.record_report(report, now=make.NOW).n_closed == 0


def test_an_order_whose_server_dies_is_played_elsewhere(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve("sim-1", slots=4)
    make.serve("sim-2", slots=4)
    (order,) = make.sent(broker)

    def tell(row: object, server: str) -> object:
        return (served.lost if server == "sim-1" else served.honest)(row, server=server)  # type: ignore[arg-type]

    served.play(order, tell, now=make.later(1))  # type: ignore[arg-type]
    given_back = set(Match.objects.filter(state="pending", attempt=1).values_list("pk", flat=True))
    assert len(given_back) == 4
    make.serve("sim-2", now=make.later(2))
    (again,) = make.sent(broker, now=make.later(2))
    assert {row.match for row in again.matches} == given_back, "they come first in their plan"
    assert counts_of(again) == {"sim-2": 4}
    assert served.play(again, now=make.later(3)).n_closed == 4


def test_a_lost_server_gets_nothing_until_it_was_heard_of_again_and_a_pause(broker: Redis) -> None:
    planned(400)
    make.alive()
    make.serve()
    (order,) = make.sent(broker)
    served.play(order, served.lost, now=make.later(1))
    assert make.sent(broker, now=make.later(8)) == []
    make.serve(now=make.later(4))
    assert make.sent(broker, now=make.later(5)) == []
    (order,) = make.sent(broker, now=make.later(6))
    served.play(order, served.lost, now=make.later(7))
    assert Worker.objects.get(node="sim-1").n_lost == 2
    make.serve(now=make.later(14))
    assert make.sent(broker, now=make.later(16)) == []
    (order,) = make.sent(broker, now=make.later(17))
    served.play(order, now=make.later(18))
    assert Worker.objects.get(node="sim-1").n_lost == 0


def test_many_players_that_lose_a_server_at_once_are_one_loss(broker: Redis) -> None:
    planned(40)
    make.alive()
    make.serve(slots=8)
    (order,) = make.sent(broker)
    make.start(order)
    for number, row in enumerate(order.matches):
        report = make.reported(order, [served.lost(row)], is_last=False)
        recording.record_report(report, now=make.later(number / 10))
    assert Worker.objects.get(node="sim-1").n_lost == 1


def test_the_pause_has_a_limit() -> None:
    assert compute_pause(Worker(n_lost=60)).total_seconds() == MAX_PAUSE_S


def test_a_server_in_quarantine_gives_its_matches_back_and_no_others(broker: Redis) -> None:
    planned()
    make.alive()
    make.serve("sim-1", slots=4)
    make.serve("sim-2", slots=4)
    (order,) = make.sent(broker)
    make.start(order)
    worker = Worker.objects.get(node="sim-1")
    assert quarantine.quarantine_worker(worker, actor=Actor("anna"), reason="odd", now=make.NOW)
    states = {
        served.server_of(order, row): Match.objects.get(pk=row.match).state for row in order.matches
    }
    assert states == {"sim-1": "pending", "sim-2": "running"}
    assert Order.objects.get().state == Order.State.PLAYING
    recorded = served.play(order)
    assert (recorded.n_closed, recorded.n_refused) == (4, 4)
    make.serve("sim-1")
    (again,) = make.sent(broker)
    assert counts_of(again) == {"sim-2": 4}


def test_what_is_missing_is_said(broker: Redis) -> None:
    tournament = planned()
    make.alive()
    missing = selectors.describe_missing(tournament, now=make.NOW)
    assert missing == (
        "a game server of skill_game: none may be sent matches "
        "(start one: docs/gameservers.md says how)"
    )
    make.serve("sim-1", rules="3")
    missing = selectors.describe_missing(tournament, now=make.NOW)
    assert "but sim-1 has version 3 of the rules, which are 1 here" in missing
    make.serve("sim-2")
    assert selectors.describe_missing(tournament, now=make.NOW) == ""


@given(
    free=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    share=st.floats(0, 1),
)
def test_dealing_keeps_to_what_is_free_and_to_its_proportion(free: list[int], share: float) -> None:
    servers = [GameServer(f"s{n}", slots, slots) for n, slots in enumerate(free)]
    n = round(share * sum(free))
    dealt = deal_matches(range(n), servers)
    assert sorted(match for of_server in dealt.values() for match in of_server) == list(range(n))
    for server in servers:
        n_dealt = len(dealt.get(server.name, ()))
        assert n_dealt <= server.n_free
        assert abs(n_dealt - n * server.n_free / sum(free)) <= len(free)


def test_a_game_whose_file_is_gone_is_told_of_all_the_same(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    tournament = planned()
    make.alive()
    make.serve()

    def fail(name: str) -> None:
        raise UnknownNameError("game", name, ())

    monkeypatch.setattr(games, "get", fail)
    assert make.sent(broker) == []
    assert "unknown game" in selectors.describe_missing(tournament, now=make.NOW)
    assert explain.of_tournament(tournament, now=make.NOW).waits_for
    assert explain.of_match(Match.objects.order_by("pk")[0], now=make.NOW)
    assert explain.of_worker(Worker.objects.get(node="sim-1"), now=make.NOW).waits_for
    (row,) = sampling.take_sample(now=make.NOW, last=None).tournaments
    assert row.waits_for


def test_a_node_of_an_older_version_is_sent_no_matches_of_game_servers(broker: Redis) -> None:
    tournament = planned()
    make.alive()
    make.serve()
    Worker.objects.filter(node=make.NODE).update(versions={"orders": "2"})
    assert make.sent(broker) == []
    why = "a play node that dials game servers: install this version of evalsite on node-1"
    assert selectors.describe_missing(tournament, now=make.NOW) == why
    assert why in explain.of_tournament(tournament, now=make.NOW).waits_for
    make.alive(now=make.later(1))
    assert len(make.sent(broker, now=make.later(1))) == 1
