"""The state of the whole system: read once for everybody, in numbers, then in words."""

import json
import logging
from typing import Any

import msgspec
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from msgspec.structs import replace
from pytest_django import Settings
from redis import Redis

from arena.messages import Reason, Serving
from arena.queues import serving_key
from matches import dispatch
from matches.ledger import order_states, recording
from matches.ledger.quarantine import quarantine_worker
from matches.models import Attempt, Match, Order, RecorderMark, Uncounted, Worker
from matches.operations.system import pushing, sampling
from matches.operations.system.display import format_state
from matches.operations.system.sample import Sample, SystemState
from matches.operations.system.sampling import take_sample
from matches.store import attempt_counters, fast_store
from matches.store.attempt_counters import AttemptCounter, Kind
from matches.store.auditing import Actor
from matches.tests import factories as make
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db


def _queue(sample: Sample, name: str) -> Any:
    return next(queue for queue in sample.queues if queue.name == name)


def _serving(**changed: Any) -> Serving:
    return msgspec.structs.replace(
        Serving("gpu-1", [0], 3, 2, 100.0, 10.0, 640.0, 4.0, 9.5, 1), **changed
    )


def _say(broker: Redis, serving: Serving) -> None:
    broker.set(serving_key(serving.gpu), msgspec.json.encode(serving))


def _table(state: SystemState, name: str) -> Any:
    return next(table for table in format_state(state)["tables"] if table["name"] == name)


def _state(sample: Sample) -> SystemState:
    return SystemState(sample=sample, history=[sample.point], control_at=sample.at)


def test_nodes_are_listed_with_what_they_have_in_hand(broker: Redis) -> None:
    order = make.ordered(make.planned(8), 5)
    make.alive(labels={"class": "spot", "price": "0.35", "zone": "eu-1"})
    make.alive(node="gpu-1", capabilities=["gpu", "spot"], slots=1)
    make.alive(node="gone", now=later(-120))
    make.start(order)
    sample = take_sample(now=later(4), last=None)
    assert [(n.name, n.kind, n.is_alive, n.is_spot) for n in sample.nodes] == [
        ("gpu-1", "gpu", True, True),
        ("node-1", "play", True, True),
        ("gone", "play", False, False),
    ]
    assert (sample.nodes[1].n_orders, sample.nodes[1].n_matches) == (1, 5)
    counts = sample.counts
    assert (counts.n_play, counts.n_gpu, counts.n_slots, counts.n_lost) == (1, 1, 2, 1)
    rows = _table(_state(sample), "nodes")["rows"]
    assert [row["tone"] for row in rows] == ["good", "good", "bad"]
    assert rows[0]["cells"][1] == "gpu, spot", "as a node of an older version says it"
    assert rows[1]["cells"][1:6] == [
        "play, cpu; class spot, price 0.35, zone eu-1",
        "2",
        "5 in 1 order",
        "0.5 processes per core, memory 25\N{NO-BREAK SPACE}%",
        "4 s ago",
    ]
    assert rows[2]["cells"][5] == "lost, 2.1 min ago"


def test_a_node_in_quarantine_is_shown_as_such_and_plays_nothing(broker: Redis) -> None:
    make.alive()
    quarantine_worker(Worker.objects.get(), actor=Actor("anna"), reason="it overheats", now=NOW)
    sample = take_sample(now=NOW, last=None)
    assert (sample.counts.n_play, sample.counts.n_slots) == (0, 0)
    assert _queue(sample, "play.*").n_takers == 0
    (row,) = _table(_state(sample), "nodes")["rows"]
    assert (row["tone"], row["cells"][5]) == ("bad", "in quarantine (it overheats), 0 s ago")


def test_nodes_lost_long_ago_are_not_listed(broker: Redis) -> None:
    make.alive(now=later(-4_000))
    sample = take_sample(now=NOW, last=None)
    assert sample.nodes == []
    assert "./run up" in _table(_state(sample), "nodes")["empty"]


def test_only_so_many_nodes_are_listed_and_the_others_counted(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "MAX_NODES", 2)
    for number in range(5):
        make.alive(node=f"node-{number}")
    sample = take_sample(now=NOW, last=None)
    assert (len(sample.nodes), sample.counts.n_play) == (2, 5)
    assert "3 more are not listed" in _table(_state(sample), "nodes")["caption"]


def test_queues_say_how_many_wait_for_how_long_and_who_takes_them(broker: Redis) -> None:
    tournament = make.planned(8)
    make.alive(capabilities=["cpu", "torch"])
    make.ordered(tournament, 2)
    make.ordered(tournament, 2, now=later(6))
    broker.delete("control")  # planning has woken the rater
    RecorderMark.objects.create(pk=1, marked_at=NOW)
    sample = take_sample(now=later(10), last=None)
    assert [queue.name for queue in sample.queues] == [*("control", "reports", "play.*", "gpu")]
    play = _queue(sample, "play.*")
    assert (play.length, play.oldest_s, play.n_takers) == (2, 10, 1)
    assert _queue(sample, "reports").oldest_s == 10
    assert _queue(sample, "gpu").n_takers == 0
    assert sample.point.n_waiting == 2
    broker.lpush("gpu", "x")
    rows = _table(_state(take_sample(now=later(10), last=None)), "queues")["rows"]
    tones = {row["cells"][0]: row["tone"] for row in rows}
    assert (tones["gpu"], tones["play.*"]) == ("bad", "good")
    assert rows[-1]["cells"][-1] == "no: nobody is alive to take them"


def test_what_is_normal_in_a_queue_is_said(broker: Redis) -> None:
    def read() -> dict[str, tuple[str, str]]:
        rows = _table(_state(take_sample(now=later(10), last=None)), "queues")["rows"]
        return {row["cells"][0]: (row["tone"], row["cells"][-1]) for row in rows}

    RecorderMark.objects.create(pk=1, marked_at=NOW)
    broker.lpush("control", *range(5))
    assert read()["control"] == ("good", "yes (up to 5)")
    assert read()["reports"] == ("good", "yes (up to 10 s)")
    broker.lpush("control", *range(4))
    RecorderMark.objects.update(marked_at=later(-1))
    assert read()["control"] == ("warn", "no: control is behind or down (up to 5 are normal)")
    assert read()["reports"] == (
        "warn",
        "no: the recorder is behind or down (up to 10 s are normal)",
    )


def test_what_gpu_workers_say_of_themselves_is_shown(broker: Redis) -> None:
    make.alive(node="gpu-1", capabilities=["gpu"])
    make.alive(node="gpu-2", capabilities=["gpu"])
    make.alive(node="gpu-3", capabilities=["gpu"])
    _say(broker, _serving())
    _say(broker, _serving(gpu="gpu-2", shards=[2], forwards_per_s=0, rows_per_s=0, p50_ms=None))
    broker.set(serving_key("gpu-3"), "{}")
    sample = take_sample(now=NOW, last=None)
    assert [one.gpu for one in sample.serving] == ["gpu-1", "gpu-2"]
    assert sample.point.rows_per_forward == 64
    assert [q.name for q in sample.queues if q.name.startswith("gpu")] == ["gpu", "gpu.2"]
    rows = [row["cells"] for row in _table(_state(sample), "serving")["rows"]]
    assert rows == [
        ["gpu-1", "64", "640", "4.0 / 9.5 ms", "2", "3"],
        ["gpu-2", "\N{EN DASH}", "0", "\N{EN DASH}", "2", "3"],
    ]


def test_failures_of_the_last_hour_are_counted_by_reason(broker: Redis) -> None:
    make.planned(6)
    matches = list(Match.objects.all())

    def ended(match: Match, ending: str, reason: str, seconds: float) -> None:
        Attempt.objects.create(
            match=match, number=1, ending=ending, reason=reason, ended_at=later(seconds)
        )

    ended(matches[0], "failed", "error", -4_000)
    ended(matches[1], "failed", "error", -10)
    ended(matches[2], "failed", "error", -5)
    ended(matches[3], "interrupted", "gpu_lost", -5)
    ended(matches[4], "done", "", -5)
    sample = take_sample(now=NOW, last=None)
    assert [(row.ending, row.reason, row.n) for row in sample.failures.rows] == [
        ("failed", "error", 2),
        ("interrupted", "gpu_lost", 1),
    ]
    ended(matches[5], "failed", "too_long", 0)
    kept = take_sample(now=later(5), last=sample)
    assert kept.failures == sample.failures, "they are read every ten seconds only"
    assert len(take_sample(now=later(11), last=sample).failures.rows) == 3


def test_a_storm_of_failures_is_cut(broker: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MAX_FAILURES", 2)
    make.planned(3)
    Attempt.objects.bulk_create(
        Attempt(match=match, number=1, ending="failed", reason="error", ended_at=NOW)
        for match in Match.objects.all()
    )
    sample = take_sample(now=NOW, last=None)
    assert (sample.failures.rows[0].n, sample.failures.is_cut) == (2, True)
    assert "there are more" in _table(_state(sample), "failures")["caption"]


def test_the_rate_is_of_the_last_seconds_and_never_below_zero(broker: Redis) -> None:
    def tell(n: int) -> None:
        tally = AttemptCounter()
        tally.note([Kind("done", "")] * n + [Kind("failed", "error")])
        tally.flush(now=NOW)

    tell(10)
    first = take_sample(now=NOW, last=None)
    tell(30)
    second = take_sample(now=later(2), last=first, history=[first.point])
    assert (first.point.matches_per_s, second.point.matches_per_s) == (0, 15)
    broker.delete(attempt_counters.KEY)
    third = take_sample(now=later(3), last=second, history=[first.point, second.point])
    assert third.point.matches_per_s == 0


def test_delays_of_recorder_rater_and_start(broker: Redis) -> None:
    assert take_sample(now=NOW, last=None).delays.recorder_s is None
    order = make.ordered(make.planned(8), 3)
    make.start(order, now=later(2))
    recording.record_report(make.finished(order), now=later(3))
    RecorderMark.objects.create(pk=1, marked_at=later(9))
    sample = take_sample(now=later(10), last=None)
    delays = sample.delays
    assert (delays.start_p50_s, delays.start_p99_s) == (2, 2)
    assert (delays.recorder_s, delays.rating_s, sample.n_uncounted) == (1, 7, 3)
    facts = {fact["name"]: fact["value"] for fact in format_state(_state(sample))["facts"]}
    assert facts["rating"] == "7 s, 3 outcomes"
    assert facts["start"] == "2 s", "the median, and no match waited longer"
    slow = replace(sample, delays=replace(delays, start_p99_s=5.0))
    facts = {fact["name"]: fact["value"] for fact in format_state(_state(slow))["facts"]}
    assert facts["start"] == "2 s in the median, 99 of 100 at most 5 s"
    Uncounted.objects.all().delete()
    facts = {
        f["name"]: f["value"]
        for f in format_state(_state(take_sample(now=NOW, last=None)))["facts"]
    }
    assert facts["rating"] == "0 s"


def test_what_does_not_answer_is_said_and_the_rest_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make.alive()
    nobody = Redis.from_url("redis://127.0.0.1:1/0")
    for module, name in ((fast_store, "get_client"), (dispatch, "get_broker")):
        monkeypatch.setattr(module, name, lambda: nobody)
    sample = take_sample(now=NOW, last=None)
    assert sample.trouble == ["fast store", "broker"]
    assert sample.counts.n_play == 1
    assert [queue.length for queue in sample.queues] == [None, None, 0, None]
    trouble = format_state(_state(sample))["trouble"]
    assert trouble == "the fast store does not answer; the broker does not answer"


def test_control_looks_once_a_second_and_keeps_minutes(broker: Redis) -> None:
    for second in (0, 0.5, 1, 2):
        pushing.push_sample(now=later(second))
    state = pushing.read_latest()
    assert state is not None
    assert [point.at for point in state.history] == [later(0), later(1), later(2)]
    assert state.control_at == later(2)
    pushing.push_sample(now=later(400))
    state = pushing.read_latest()
    assert state is not None
    assert len(state.history) == 1


def test_while_control_is_away_who_asks_looks_and_says_so(broker: Redis) -> None:
    pushing.push_sample(now=NOW)
    assert pushing.read_newest(now=later(2)).sample.at == NOW
    state = json.loads(pushing.format_newest(now=later(60)))
    assert state["at"] == later(60).isoformat()
    assert state["trouble"].startswith("control, which plans")
    assert state["trouble"].endswith(", has not looked for 60 s")
    broker.flushall()
    state = json.loads(pushing.format_newest(now=later(61)))
    assert state["trouble"].endswith(", has not looked yet: is it running?")


def test_a_state_of_another_version_is_replaced(broker: Redis) -> None:
    broker.set(pushing.KEY, '{"sample": 1}')
    assert pushing.read_latest() is None
    pushing.push_sample(now=NOW)
    assert pushing.read_latest() is not None


def test_without_the_fast_store_control_goes_on(
    caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    location = {"LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": {**settings.CACHES["default"], **location}}
    with caplog.at_level(logging.WARNING):
        pushing.push_sample(now=NOW)
    assert "not pushed while the fast store is away" in caplog.text


def test_long_lines_are_drawn_by_their_highest_points(broker: Redis) -> None:
    point = take_sample(now=NOW, last=None).point
    history = [msgspec.structs.replace(point, matches_per_s=float(n % 7)) for n in range(301)]
    state = SystemState(sample=take_sample(now=NOW, last=None), history=history, control_at=NOW)
    chart = format_state(state)["charts"][0]
    assert len(chart["points"].split()) <= 150
    assert chart["most"] == "6"


def test_no_look_asks_more_when_more_was_played(broker: Redis) -> None:
    tournament = make.planned(300)
    make.alive()

    def n_queries() -> int:
        with CaptureQueriesContext(connection) as queries:
            take_sample(now=NOW, last=None)
        return len(queries)

    before = n_queries()
    order = make.ordered(tournament, 100)
    make.start(order)
    recording.record_report(make.finished(order), now=NOW)
    lost = make.ordered(tournament, 100)
    order_states.lose_order(Order.objects.get(uuid=lost.order), reason=Reason.EXPIRED, now=NOW)
    assert n_queries() <= before + 1
