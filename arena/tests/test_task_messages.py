"""What passes a queue: a plain call of a task that it may call, and nothing else."""

import base64
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena import messages
from arena.errors import MessageError
from arena.queues import (
    CHECK_TASK,
    DRAIN_TASK,
    EXPERIENCE_RECORD_TASK,
    PLAY_TASK,
    RECORD_TASK,
    TRAIN_TASK,
)
from arena.task_messages import MAX_ITEM, TaskForm, read_item, tasks_of_queue, timed_task
from arena.tests.deadly import DEADLY
from arena.tests.test_train_messages import ORDER as TRAIN_ORDER
from arena.tests.test_train_messages import REPORT as TRAINED
from arena.train_messages import to_wire

CALLBACKS = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
MARK = {"kind": "mark", "at": "2026", "token": "t"}
CHECK = {
    "checkpoint": "0" * 64,
    "source": "/x",
    "token": "t",
    "game": "connect_four",
    "n_actions": 7,
    "observation_shape": [126],
    "key": "8" * 64,
}
ORDER = {
    "order": "0" * 32,
    "token": "t",
    "game": "skill_game",
    "rules_version": 1,
    "game_parameters": {},
    "opening_plies": 0,
    "limits": {},
    "agents": [{"policy": "level", "parameters": {"level": 1}}],
    "matches": [[1, 1, 1, [0, 0], "t"]],
}
TICK = "matches.tick"
# One good call of each queue; the queue of control is named where it is consumed.
GOOD: Mapping[str, tuple[str, list[Any]]] = {
    "reports": (RECORD_TASK, [MARK]),
    "reports.3": (RECORD_TASK, [MARK]),
    "play.node-1": (PLAY_TASK, [ORDER]),
    "gpu": (DRAIN_TASK, [0, "lease"]),
    "gpu.2": (CHECK_TASK, [CHECK]),
    "train": (TRAIN_TASK, [to_wire(TRAIN_ORDER)]),
    "trained": (EXPERIENCE_RECORD_TASK, [to_wire(TRAINED)]),
    "control": (TICK, []),
}


def calls(queue: str) -> Mapping[str, TaskForm]:
    return {TICK: timed_task()} if queue == "control" else tasks_of_queue(queue)


def encoded(body: bytes) -> str:
    return base64.b64encode(body).decode()


def message(queue: str, **headers: object) -> dict[str, Any]:
    task, arguments = GOOD[queue]
    return {
        "body": encoded(json.dumps([arguments, {}, CALLBACKS]).encode()),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": task, "id": "x"} | headers,
        "properties": {
            "delivery_info": {"exchange": "", "routing_key": queue},
            "body_encoding": "base64",
            "delivery_tag": "x",
        },
    }


def refusal(item: object, queue: str) -> str:
    raw = item if isinstance(item, bytes) else json.dumps(item).encode()
    with pytest.raises(MessageError) as refused:
        read_item(raw, calls(queue))
    return str(refused.value)


@pytest.mark.parametrize("queue", GOOD)
def test_a_plain_call_passes_and_its_arguments_come_back(queue: str) -> None:
    arguments = read_item(json.dumps(message(queue)).encode(), calls(queue))
    assert len(arguments) == len(GOOD[queue][1])


def test_arguments_are_the_messages_that_they_declare() -> None:
    (report,) = read_item(json.dumps(message("reports")).encode(), calls("reports"))
    assert report == messages.Mark(at="2026", token="t")


@pytest.mark.parametrize("queue", GOOD)
@pytest.mark.parametrize("deadly", DEADLY, ids=lambda raw: repr(raw[:4]))
def test_what_ends_a_json_reader_is_refused_wherever_it_stands(queue: str, deadly: bytes) -> None:
    good = message(queue)
    assert refusal(deadly, queue)
    for part in (good, good["headers"], good["properties"]):
        for name in list(part):
            whole = part[name]
            part[name] = "DEADLY"
            assert refusal(json.dumps(good).encode().replace(b'"DEADLY"', deadly), queue)
            part[name] = whole
    body = json.dumps([["DEADLY", *GOOD[queue][1][1:]], {}, CALLBACKS]).encode()
    for raw in (deadly, body.replace(b'"DEADLY"', deadly)):
        assert refusal(good | {"body": encoded(raw)}, queue)


@pytest.mark.parametrize("queue", GOOD)
@pytest.mark.parametrize(
    "headers",
    [
        {"task": "matches.void"},
        {"task": 7},
        {"retries": -1},
        {"group": "g"},
        {"unheard_of": 1},
        {"stamps": {"a": 1}},
        {"argsrepr": "x" * 2_001},
        {"timelimit": [None]},
        {"timelimit": [None, None, None]},
        {"timelimit": [1, 1]},
    ],
    ids=str,
)
def test_headers_that_no_call_has_are_refused(queue: str, headers: dict[str, object]) -> None:
    assert refusal(message(queue, **headers), queue)


@pytest.mark.parametrize("queue", ["reports", "play.node-1", "gpu"])
@pytest.mark.parametrize("header", [{"eta": "2099"}, {"expires": "soon"}, {"retries": 1}], ids=str)
def test_what_nodes_send_may_not_wait(queue: str, header: dict[str, object]) -> None:
    assert refusal(message(queue, **header), queue)


@pytest.mark.parametrize("queue", GOOD)
@pytest.mark.parametrize(
    "body",
    [
        [[MARK], {}, {"chain": [{"task": TICK}]}],
        [[MARK], {}, {"callbacks": [{"task": TICK}]}],
        [[{}, {}], {}, {}],
        [[], {"report": {}}, {"callbacks": 1}],
        [[{}], {}, {}],
        "no call",
        None,
    ],
    ids=str,
)
def test_bodies_that_are_no_call_are_refused(queue: str, body: object) -> None:
    assert refusal(message(queue) | {"body": encoded(json.dumps(body).encode())}, queue)


def test_a_body_that_is_no_base64_and_other_serializers_are_refused() -> None:
    for change in ({"body": "%%%"}, {"content-type": "application/x-python-serialize"}):
        assert refusal(message("reports") | change, "reports")


def test_an_item_past_all_bounds_is_not_even_read() -> None:
    assert "bytes; at most" in refusal(b" " * (MAX_ITEM + 1), "reports")


def test_a_queue_that_nobody_knows_may_call_nothing() -> None:
    assert not tasks_of_queue("celery")
    assert "this queue calls" in refusal(message("reports"), "gpu")


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@settings(max_examples=60)
@given(queue=st.sampled_from(sorted(GOOD)), raw=st.binary(max_size=200), value=_json)
def test_no_item_does_anything_but_pass_or_be_refused(
    queue: str, raw: bytes, value: object
) -> None:
    good = message(queue)
    broken: list[object] = [raw, value, good | {"body": encoded(raw)}]
    broken += [good | {name: value} for name in good]
    broken += [good | {"headers": good["headers"] | {name: value}} for name in good["headers"]]
    for item in broken:
        item_bytes = item if isinstance(item, bytes) else json.dumps(item).encode()
        with suppress(MessageError):
            read_item(item_bytes, calls(queue))
