"""What the workers of this app read of their queues; see also arena.task_messages and its tests."""

import base64
import json

import pytest
from celery import Celery
from celery.exceptions import Retry
from kombu import Queue

from arena.queues import CHECK_TASK, RECORD_TASK, REPORTS_QUEUE
from arena.task_messages import read_item, tasks_of_queue
from arena.tests.test_task_messages import CHECK
from evalsite.transport import CONTROL_CALLS, find_fault
from matches import dispatch

SENT_AGAIN = {
    dispatch.CONTROL_QUEUE: (dispatch.SCHEDULE_TOURNAMENT, [7]),
    "gpu": (CHECK_TASK, [CHECK]),
}


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


@pytest.mark.parametrize("queue", SENT_AGAIN)
def test_what_celery_sends_again_is_read(queue: str) -> None:
    task, arguments = SENT_AGAIN[queue]
    app = Celery(broker="memory://", set_as_current=False)

    @app.task(name=task)
    def work(argument: object) -> None:
        """Is not called: its first message is what was read here already."""

    work.push_request(
        **{"id": "x", "args": arguments, "kwargs": {}, "called_directly": False},
        **{"origin": "gen1@host", "delivery_info": {"exchange": "", "routing_key": queue}},
    )
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        Queue(queue)(channel).declare()
        with pytest.raises(Retry):
            work.retry(countdown=1)
        sent = json.dumps(channel._get(queue)).encode()  # type: ignore[attr-defined]
    read_item(sent, CONTROL_CALLS if queue == dispatch.CONTROL_QUEUE else tasks_of_queue(queue))


def test_control_reads_no_reports() -> None:
    assert find_fault(item(RECORD_TASK, []), dispatch.CONTROL_QUEUE)


@pytest.mark.parametrize("queue", [dispatch.CONTROL_QUEUE, REPORTS_QUEUE, "of others"])
@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' + b"9" * 5_000 + b"}", b"x", b"\xff"])
def test_no_queue_lets_garbage_through(queue: str, raw: bytes) -> None:
    assert find_fault(raw, queue)
