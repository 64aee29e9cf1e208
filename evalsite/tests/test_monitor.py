"""What Flower reads, with nothing but its own user of the broker."""

import json
import subprocess
import sys
from typing import Any

import pytest
from celery import Celery
from redis import Redis

from evalsite import monitor
from launcher.folders import ROOT

REPLIES = "x.reply.celery.pidbox"
GARBAGE = (b"[" * 100_000, b'{"a":' + b"9" * 5_000 + b"}", b"x", b"\xff", b"[]", b"1" * 10**7)


@pytest.mark.parametrize("raw", GARBAGE)
def test_garbage_for_a_reply_is_refused_with_the_reason(broker: Redis, raw: bytes) -> None:
    broker.lpush(REPLIES, raw)
    address = broker.connection_pool.connection_kwargs
    client = monitor.Client(host=address["host"], port=address["port"])
    assert client.refuse_item(raw, REPLIES)
    assert client.brpop([REPLIES], timeout=1) is None


def test_a_reply_to_a_command_of_celery_passes() -> None:
    assert monitor.Client().refuse_item(b'{"body": "", "properties": {}}', REPLIES) is None


def test_an_event_that_cannot_be_read_ends_nothing(
    broker: Redis, valkey_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", valkey_url)
    app = Celery(set_as_current=False, fixups=[])
    app.add_defaults(monitor.read_configuration)
    heard = list[str]()

    def hear(event: dict[str, Any]) -> None:
        heard.append(event["type"])

    with app.connection() as connection:
        receiver = app.events.Receiver(connection, handlers={"*": hear})
        events = receiver.itercapture(limit=None, timeout=5, wakeup=False)
        next(events)  # it listens now
        broker.publish("/0.celeryev/worker.heartbeat", b"[" * 100_000)
        with app.events.Dispatcher(connection) as dispatcher:
            dispatcher.send("worker-heartbeat", freq=1)
        next(events)
    assert heard == ["worker-heartbeat"]


def test_it_needs_no_django_and_no_secret() -> None:
    code = "import evalsite.monitor, sys, json; print(json.dumps(sorted(sys.modules)))"
    environment = {"REDIS_URL": "redis://127.0.0.1:1/0"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(json.loads(done.stdout))  # kombu looks for a class of django.utils
    assert not loaded & {"django.conf", "django.db", "evalsite.settings", "matches", "numpy"}


def test_without_an_address_it_ends_with_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    with pytest.raises(SystemExit, match="REDIS_URL is missing"):
        monitor.read_configuration()
