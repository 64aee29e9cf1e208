"""What the workers of this app read of their queues; see also arena.task_messages and its tests."""

import base64
import json

import pytest

from arena.queues import RECORD_TASK, REPORTS_QUEUE
from evalsite.transport import CONTROL_CALLS, find_fault
from matches import dispatch


def item(task: str, arguments: list[object], **headers: object) -> bytes:
    body = json.dumps([arguments, {}, {}]).encode()
    delivery = {"exchange": "", "routing_key": "x"}
    message = {
        "body": base64.b64encode(body).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": task, "id": "x", **headers},
        "properties": {
            "delivery_info": delivery,
            "body_encoding": "base64",
            "delivery_tag": "x",
        },
    }
    return json.dumps(message).encode()


@pytest.mark.parametrize("task", CONTROL_CALLS)
def test_control_reads_the_calls_of_beat_and_of_wake_ups(task: str) -> None:
    call = item(task, [7], expires="2099", periodic_task_name="tick")
    assert find_fault(call, dispatch.CONTROL_QUEUE) is None
    assert find_fault(call, REPORTS_QUEUE)


def test_control_reads_no_reports() -> None:
    assert find_fault(item(RECORD_TASK, []), dispatch.CONTROL_QUEUE)


@pytest.mark.parametrize("queue", [dispatch.CONTROL_QUEUE, REPORTS_QUEUE, "of others"])
@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' + b"9" * 5_000 + b"}", b"x", b"\xff"])
def test_no_queue_lets_garbage_through(queue: str, raw: bytes) -> None:
    assert find_fault(raw, queue)
