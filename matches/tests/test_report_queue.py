"""Reports that wait are recorded together, each once, whatever happens in between."""

import base64
import json
from datetime import datetime
from typing import Any

import psycopg
import pytest
from django.db import InternalError, connection
from django.test.utils import CaptureQueriesContext
from redis import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError

from arena.messages import (
    Alive,
    Ending,
    MatchOrder,
    MatchOrderRow,
    Reason,
    Report,
    ResultRow,
    Started,
    to_wire,
)
from matches import dispatch
from matches.ledger import recording, report_queue
from matches.models import Match, Order, Outcome, Tournament
from matches.tests import factories as make

pytestmark = pytest.mark.django_db


def item(report: Report | dict[str, Any]) -> bytes:
    """Return a report as a node puts it into the queue."""
    wire = report if isinstance(report, dict) else to_wire(report)
    body = json.dumps([[wire], {}, {}]).encode()
    message = {
        "body": base64.b64encode(body).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"task": "matches.record", "id": "x"},
        "properties": {
            "delivery_info": {"exchange": "", "routing_key": "reports"},
            "body_encoding": "base64",
            "delivery_tag": "x",
        },
    }
    return json.dumps(message).encode()


@pytest.fixture
def orders(broker: Redis) -> list[MatchOrder]:
    """Have a node play four orders of two matches each, of two tournaments."""
    make.alive()
    planned = [make.planned(4), make.planned(4, board="other", seed=7)]
    orders = [make.ordered(tournament, 2) for tournament in planned for _ in range(2)]
    for order in orders:
        make.start(order)
    return orders


def receive(report: Report, *, queue: str = "reports") -> recording.RecordedCounts:
    return report_queue.receive_reports(to_wire(report), queue=queue, clock=lambda: make.NOW)


def test_what_waits_is_recorded_with_the_first(orders: list[MatchOrder], broker: Redis) -> None:
    first, *others = [make.finished(order) for order in orders]
    for report in others:
        broker.lpush("reports", item(report))
    assert receive(first) == recording.RecordedCounts(n_closed=8)
    assert not broker.keys("reports*")
    assert set(Tournament.objects.values_list("n_done", "state")) == {(4, "done")}
    assert set(Order.objects.values_list("state", flat=True)) == {Order.State.CLOSED}


def test_a_batch_says_what_its_reports_would_say_alone(
    orders: list[MatchOrder], broker: Redis
) -> None:
    begun = make.reported(orders[0], [make.first_wins(orders[0].matches[0])], is_last=False)
    rest = make.reported(orders[0], [make.first_wins(orders[0].matches[1])])
    for report in (begun, rest, rest):
        broker.lpush("reports", item(report))
    assert receive(begun) == recording.RecordedCounts(n_closed=2, n_refused=2)


def test_what_a_recorder_left_that_was_killed_is_recorded_first(
    orders: list[MatchOrder], broker: Redis
) -> None:
    for order in orders[:3]:
        broker.lpush("reports", item(make.finished(order)))
    aside = dispatch.set_reports_aside("reports")
    assert aside
    assert len(aside.newer) == 3
    assert receive(make.finished(orders[3])) == recording.RecordedCounts(n_closed=8)
    assert not broker.keys("reports*")


def test_garbage_among_them_is_dropped(orders: list[MatchOrder], broker: Redis) -> None:
    broker.lpush("reports", b"[" * 100_000, item({"kind": "alive"}), b"9" * 5_000)
    broker.lpush("reports", item(make.finished(orders[1])))
    assert receive(make.finished(orders[0])) == recording.RecordedCounts(n_closed=4)


def test_one_report_that_cannot_be_stored_takes_no_other_with_it(
    orders: list[MatchOrder], broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = recording._store_report

    def refuse_second(
        trusted: recording.TrustedReport, *noted: Any, now: datetime
    ) -> recording.RecordedCounts:
        if trusted.order.uuid.hex == orders[1].order:
            raise ValueError("A string literal cannot contain NUL (0x00) characters.")
        return store(trusted, *noted, now=now)

    monkeypatch.setattr(recording, "_store_report", refuse_second)
    for order in orders[1:]:
        broker.lpush("reports", item(make.finished(order)))
    assert receive(make.finished(orders[0])) == recording.RecordedCounts(n_closed=6, n_refused=1)
    assert Outcome.objects.count() == 6


def test_a_database_that_may_only_be_read_now_costs_no_report(
    orders: list[MatchOrder], broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> recording.RecordedCounts:
        error = InternalError("cannot execute UPDATE in a read-only transaction")
        raise error from psycopg.errors.ReadOnlySqlTransaction()

    broker.lpush("reports", item(make.finished(orders[1])))
    monkeypatch.setattr(report_queue, "retry_while_database_is_away", lambda work: work())
    with monkeypatch.context() as read_only:
        read_only.setattr(recording, "_store_report", refuse)
        with pytest.raises(InternalError):
            receive(make.finished(orders[0]))
    assert receive(make.finished(orders[2])) == recording.RecordedCounts(n_closed=4)


def test_a_long_backlog_is_taken_in_parts(orders: list[MatchOrder], broker: Redis) -> None:
    alive = item(make.reported(orders[0], [], is_last=False))
    broker.lpush("reports", *[alive] * (dispatch.MOST_REPORTS + 5))
    receive(make.finished(orders[1]))
    assert broker.llen("reports") == 5


def test_a_broker_that_is_away_holds_up_no_report(
    orders: list[MatchOrder], monkeypatch: pytest.MonkeyPatch
) -> None:
    away = Redis(port=1, socket_connect_timeout=0.1)
    monkeypatch.setattr(dispatch, "get_broker", lambda: away)
    assert receive(make.finished(orders[0])) == recording.RecordedCounts(n_closed=2)


def test_reports_together_ask_the_database_less_than_each_alone(
    orders: list[MatchOrder], broker: Redis
) -> None:
    with CaptureQueriesContext(connection) as alone:
        recording.record_report(make.finished(orders[0]), now=make.NOW)
    with CaptureQueriesContext(connection) as together:
        recording.record_reports([make.finished(order) for order in orders[1:]], now=make.NOW)
    assert len(together) < 2.4 * len(alone)
    assert not Match.objects.filter(state__in=Match.OPEN).exists()


def test_a_broker_that_fails_half_way_loses_nothing_that_was_set_aside(
    orders: list[MatchOrder], broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    for order in orders[1:]:
        broker.lpush("reports", item(make.finished(order)))

    def fail(source: str, target: str, n: int, *, most_bytes: int) -> list[bytes]:
        assert most_bytes
        broker.lmove(source, target, "RIGHT", "LEFT")
        raise RedisTimeoutError(f"while moving {n}")

    with monkeypatch.context() as broken:
        broken.setattr(dispatch, "_move_messages", fail)
        assert receive(make.finished(orders[0])) == recording.RecordedCounts(n_closed=2)
    assert receive(make.finished(orders[0])).n_closed == 6


@pytest.mark.parametrize("seat", [10**30, 2, -7])
def test_a_forfeit_of_no_seat_is_refused_and_holds_up_no_other(
    seat: int, orders: list[MatchOrder], broker: Redis
) -> None:
    def odd(row: MatchOrderRow) -> ResultRow:
        return make.result(row, ending=Ending.FORFEIT, ranks=[0, 1], reason=Reason.ERROR, seat=seat)

    broker.lpush("reports", item(make.finished(orders[1], odd)))
    recorded = receive(make.finished(orders[0]))
    assert (recorded.n_closed, recorded.n_refused) == (2, 2)
    assert receive(make.finished(orders[2])).n_closed == 2


def test_a_report_that_fails_in_any_way_stops_no_later_one(
    orders: list[MatchOrder], broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = recording._store_report

    def fail_second(
        trusted: recording.TrustedReport, *noted: Any, now: datetime
    ) -> recording.RecordedCounts:
        if trusted.order.uuid.hex == orders[1].order:
            raise OverflowError("Python int too large to convert to SQLite INTEGER")
        return store(trusted, *noted, now=now)

    monkeypatch.setattr(recording, "_store_report", fail_second)
    broker.lpush("reports", item(make.finished(orders[1])))
    assert receive(make.finished(orders[0])) == recording.RecordedCounts(n_closed=2, n_refused=1)
    assert receive(make.finished(orders[2])) == recording.RecordedCounts(n_closed=2)


def test_what_a_restarted_node_begins_is_not_lost_with_its_life_before(
    orders: list[MatchOrder], broker: Redis
) -> None:
    make.alive(incarnation="before")
    last_sign, first_sign = (
        Alive(
            node=make.NODE,
            incarnation=life,
            slots=2,
            capabilities=["cpu"],
            versions={},
            orders=[],
            key=make.key_of(make.NODE),
            place="machine-1",
        )
        for life in ("before", "after")
    )
    fresh = make.ordered(make.planned(2, board="third", seed=9), 2)
    begun = Started(
        node=make.NODE,
        incarnation="after",
        order=fresh.order,
        token=fresh.token,
        key=make.key_of(make.NODE),
    )
    recording.record_reports([last_sign, first_sign, begun], now=make.NOW)
    assert Order.objects.get(uuid=fresh.order).state == Order.State.PLAYING
