"""What passes the reports queue: a plain call of the one task, and nothing else."""

import base64
import json
from typing import Any

import pytest

from arena.messages import RECORD_TASK
from evalsite.transport import fault_of

PLAIN = [[{"kind": "alive"}], {}, {"callbacks": None, "errbacks": None, "chain": None}]


def _message(call: object = PLAIN, **headers: object) -> dict[str, Any]:
    return {
        "body": base64.b64encode(json.dumps(call).encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": RECORD_TASK, "id": "x"} | headers,
        "properties": {
            "delivery_info": {"exchange": "", "routing_key": "reports"},
            "body_encoding": "base64",
            "delivery_tag": "x",
        },
    }


def test_a_plain_call_passes() -> None:
    assert fault_of(_message()) is None


@pytest.mark.parametrize(
    "message",
    [
        _message(task="matches.tick"),
        _message(eta="2099-01-01T00:00:00"),
        _message(expires="soon"),
        _message(retries=3),
        _message(group="g"),
        _message(unheard_of=1),
        _message([[{}], {}, {"chain": [{"task": "matches.tick"}]}]),
        _message([[{}], {}, {"callbacks": [{"task": "matches.tick"}]}]),
        _message([[{}, {}], {}, {}]),
        _message([[], {"report": {}}, {}]),
        _message([[7], {}, {}]),
        _message("no call"),
        _message() | {"body": "%%%"},
        _message() | {"content-type": "application/x-python-serialize"},
        _message() | {"properties": {}},
        {},
        [],
        None,
        7,
    ],
)
def test_everything_else_is_named_as_a_fault(message: object) -> None:
    assert fault_of(message)
