"""Several recorders share the tournaments; no report is lost when their number changes."""

import json
from base64 import b64decode
from collections import Counter
from typing import Any

import pytest
from celery import Celery
from redis import Redis

from arena.message_tokens import mark_token
from arena.messages import Mark
from arena.queues import reports_aside, reports_queue, shard_of
from matches import dispatch
from matches.ledger import recorder_marks, recording, report_queue
from matches.models import Outcome, RecorderMark, Tournament
from matches.operations import explain, readiness
from matches.operations.system import pushing
from matches.operations.system.sampling import take_sample
from matches.store.signing import derive_key
from matches.tests import factories as make
from matches.tests.factories import NOW, later
from matches.tests.test_report_queue import item

pytestmark = pytest.mark.django_db


def mark(shard: int, at: float) -> None:
    when = later(at).isoformat()
    recording.record_report(Mark(when, mark_token(derive_key(), when, shard), shard), now=later(at))


def marks_in(broker: Redis, queue: str) -> list[int]:
    """Return the shards of the marks in a queue, the oldest first."""
    wires = [
        json.loads(b64decode(json.loads(raw)["body"]))[0][0] for raw in broker.lrange(queue, 0, -1)
    ]
    return [wire["shard"] for wire in reversed(wires) if wire["kind"] == "mark"]


def planned_for(shard: int, *, of: int) -> Tournament:
    """Return a tournament of this shard."""
    while True:
        made = make.planned(4, board=f"board-{Tournament.objects.count()}")
        if shard_of(made.pk, of) == shard:
            return made


def record_next(broker: Redis, queue: str) -> recording.RecordedCounts:
    """Do what the recorder of a queue does with the oldest item and those behind it."""
    raw: Any = broker.rpop(queue)
    wire = json.loads(b64decode(json.loads(raw)["body"]))[0][0]
    return report_queue.receive_reports(wire, queue=queue, clock=lambda: NOW)


def test_an_order_names_the_queue_of_its_tournament(settings: Any, broker: Redis) -> None:
    settings.EVALSITE_RECORDERS = 3
    make.alive()
    for number in range(3):
        tournament = make.planned(4, board=f"board-{number}")
        order = make.ordered(tournament, 2)
        assert order.reports == reports_queue(shard_of(tournament.pk, 3))


def test_what_is_recorded_is_what_the_slowest_recorder_has_recorded(
    settings: Any,
) -> None:
    settings.EVALSITE_RECORDERS = 2
    mark(0, 10)
    assert recorder_marks.find_recorded_until(now=later(11)) is None
    mark(1, 8)
    assert recorder_marks.find_recorded_until(now=later(11)) == later(8)
    mark(0, 14)
    assert recorder_marks.find_recorded_until(now=later(14)) is None
    mark(1, 12)
    assert recorder_marks.find_recorded_until(now=later(14)) == later(12)
    settings.EVALSITE_RECORDERS = 1
    assert recorder_marks.find_recorded_until(now=later(14)) == later(14)


def test_a_mark_of_one_shard_is_none_of_another() -> None:
    when = NOW.isoformat()
    recording.record_report(Mark(when, mark_token(derive_key(), when, 0), 1), now=NOW)
    assert not RecorderMark.objects.exists()


def test_each_recorder_gets_a_mark_and_takes_only_its_own_reports(
    settings: Any, broker: Redis
) -> None:
    settings.EVALSITE_RECORDERS = 2
    make.alive()
    order, other = (make.ordered(planned_for(shard, of=2), 2) for shard in (0, 1))
    assert (order.reports, other.reports) == ("reports", "reports.1")
    for played in (order, other):
        make.start(played)
        broker.lpush(played.reports, item(make.finished(played)))
    recorder_marks.send_marks(now=NOW)
    assert (marks_in(broker, "reports"), marks_in(broker, "reports.1")) == ([0], [1])
    assert record_next(broker, "reports.1").n_closed == 2
    assert [row.shard for row in RecorderMark.objects.all()] == [1]
    assert broker.llen("reports") == 2
    assert record_next(broker, "reports").n_closed == 2


def test_reports_of_recorders_that_run_no_more_are_recorded_before_any_mark(
    settings: Any, broker: Redis
) -> None:
    """A start with one recorder after one with three: nodes play on what names the old queues."""
    settings.EVALSITE_RECORDERS = 3
    make.alive()
    orders = [make.ordered(planned_for(shard, of=3), 2) for shard in range(3)]
    for order in orders:
        make.start(order)
        broker.lpush(order.reports, item(make.finished(order)))
    # The one that ended had taken reports and not recorded them.
    dispatch.set_reports_aside("reports.2")
    assert broker.llen(reports_aside("reports.2")) == 1
    settings.EVALSITE_RECORDERS = 1
    recorder_marks.send_marks(now=NOW)
    assert broker.keys("reports*") == [b"reports"]
    assert marks_in(broker, "reports") == [0]
    assert record_next(broker, "reports").n_closed == 6
    assert recorder_marks.find_recorded_until(now=later(1)) == NOW
    assert Outcome.objects.count() == 6


def test_no_mark_is_sent_while_such_reports_are_left(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "MOST_MOVED", 3)
    broker.lpush("reports.1", *[item({"kind": "alive"})] * 3)
    broker.lpush("reports.4", *[item({"kind": "alive"})] * 2)
    recorder_marks.send_marks(now=NOW)
    assert (broker.llen("reports"), marks_in(broker, "reports")) == (3, [])
    recorder_marks.send_marks(now=NOW)
    assert (broker.llen("reports"), marks_in(broker, "reports")) == (6, [0])


def test_a_broker_that_is_away_gets_no_mark(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(dispatch, "get_broker", lambda: Redis(port=1, socket_connect_timeout=0.1))
    recorder_marks.send_marks(now=NOW)
    assert "no mark sent, so nothing will expire" in caplog.text


def test_the_recorder_that_is_behind_is_named(settings: Any, broker: Redis) -> None:
    settings.EVALSITE_RECORDERS = 2
    pushing.push_sample(now=NOW)
    details = {check.name: check.detail for check in readiness.run_checks(now=lambda: NOW)}
    assert "has recorded nothing yet" in details["recorder"]
    mark(0, 59)
    mark(1, 20)
    details = {check.name: check.detail for check in readiness.run_checks(now=lambda: later(60))}
    assert details["recorder"] == "recorder-2 is 40 s behind"
    sample = take_sample(now=later(60), last=None)
    assert (sample.delays.recorder_s, sample.delays.recorder) == (40, "recorder-2")
    behind = {queue.name: queue.oldest_s for queue in sample.queues}
    assert (behind["reports"], behind["reports.1"]) == (1, 40)
    explanation = explain.of_tournament(make.planned(4), now=later(60))
    assert "control and recorder-2" in str(explanation)


@pytest.mark.parametrize("queue", ["reports", "reports.2"])
def test_a_recorder_takes_more_only_from_the_queue_that_it_was_started_with(
    monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    app = Celery(set_as_current=False)
    app.amqp.queues.select([queue])
    monkeypatch.setattr(dispatch, "current_app", app)
    assert dispatch.own_reports_queue() == queue


@pytest.mark.parametrize("step", [1, 2, 10])
def test_tournaments_are_spread_whatever_ids_are_left_out(step: int) -> None:
    shares = Counter(shard_of(pk, 2) for pk in range(0, 1_000 * step, step))
    assert min(shares[0], shares[1]) > 400
