"""A real trainer: an order in its queue, files on a web server, reports in the queue of control."""

import json
import os
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
from celery import Celery
from redis import Redis

from arena.experience.wire import write_chunk
from arena.queues import EXPERIENCE_ALIVE_TASK, TRAIN_QUEUE, TRAIN_TASK, TRAINED_QUEUE
from arena.train_messages import (
    Alive,
    DataFile,
    Trained,
    TrainOrder,
    read_alive,
    read_trained,
    to_wire,
)
from training import registry
from training.errors import StateError, TrainingError, UnavailableError
from training.files import RunFiles
from training.streams import CHUNKS_AT_ONCE
from training.tasks import train
from training.tests.cart_pole import TASK, Player

ROOT = Path(__file__).parents[2]
ORDER = TrainOrder(
    run="7", order="0" * 32, slice=0, token="t", game="cart_pole", observation_shape=[4],
    n_actions=2, algorithm="appo", parameters={}, seed=3, state="", source="",
    upload="/files/training/7?signature=s", max_steps=1_000, slice_s=60.0, key="the key",
)  # fmt: skip


class Site(BaseHTTPRequestHandler):
    """Keeps what is put; `status`: what it answers instead."""

    kept: dict[str, bytes] = {}
    status = 0

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        path, _, query = self.path.partition("?")
        if self.status or (path, query) != (
            f"/files/training/7/{sha256(content).hexdigest()}", "signature=s"
        ):  # fmt: skip
            self._answer(self.status or 403, b"why")
            return
        self.kept[path] = content
        self._answer(201, b"")

    def do_GET(self) -> None:
        self._answer(self.status or 200, self.kept.get(self.path, b"nothing"))

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    Site.kept, Site.status = {}, 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def running_trainer(url: str, site: str, key: str = "the key") -> Iterator[None]:
    own = {
        "REDIS_URL": url, "STREAM_REDIS_URL": url, "EVALSITE_SITE_URL": site,
        "EVALSITE_NODE_KEY": key, "EVALSITE_TRAINER": "trainer-1", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = (sys.executable, "-m", "celery", "-A", "training", "worker", "-Q", TRAIN_QUEUE)
    flags = ("-P", "solo", "--without-gossip", "--without-mingle", "-l", "WARNING")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    with subprocess.Popen([*command, *flags], cwd=ROOT, env=kept | own) as trainer:
        try:
            yield
        finally:
            trainer.send_signal(signal.SIGTERM)
            trainer.wait(30)


def send_order(url: str, order: TrainOrder) -> None:
    with Celery(broker=url, set_as_current=False) as app:
        app.send_task(TRAIN_TASK, [to_wire(order)], queue=TRAIN_QUEUE)


def wait_for_reports(client: Any, n: int) -> list[Trained]:
    """Return the next reports, which signs of life come before."""
    reports, signs = list[Trained](), list[Alive]()
    while len(reports) < n:
        # A client waits for no answer longer than some seconds.
        taken = next(filter(None, (client.brpop(TRAINED_QUEUE, 1) for _ in range(60))), None)
        assert taken is not None, "no report came"
        message = json.loads(taken[1])
        assert "the key" not in message["headers"]["argsrepr"]
        arguments, *_ = json.loads(b64decode(message["body"]))
        if message["headers"]["task"] == EXPERIENCE_ALIVE_TASK:
            signs.append(read_alive(arguments[0]))
        else:
            reports.append(read_trained(arguments[0]))
    assert Alive("trainer-1", "7", "0" * 32, 0, "t", "the key") in signs
    return reports


@pytest.mark.slow
def test_a_trainer_takes_an_order_and_reports_what_it_has_learned(
    broker: "Redis", valkey_url: str, site: str
) -> None:
    broker.xgroup_create("xp:{cart_pole}", "learn:7", id="0", mkstream=True)
    player, policy = Player(0), registry.get("appo").begin(TASK, {}, seed=1)
    for _ in range(CHUNKS_AT_ONCE):
        fields: Any = {"chunk": write_chunk(player.play(policy)), "user": 1, "n": 128}
        broker.xadd("xp:{cart_pole}", fields)
    with running_trainer(valkey_url, site):
        # Of somebody else: it is dropped, and the trainer goes on.
        send_order(valkey_url, msgspec.structs.replace(ORDER, key="another"))
        send_order(valkey_url, msgspec.structs.replace(ORDER, parameters={"epoch": 1}))
        send_order(valkey_url, ORDER)
        refused, first, version, last = wait_for_reports(broker, 4)
    assert "appo" in refused.refusal
    assert (version.version, version.n_steps, version.trainer) == (1, 1024, "trainer-1")
    assert (last.is_last, last.token) == (True, "t")
    put = (first.weights, version.weights, last.state)
    assert set(Site.kept) == {f"/files/training/7/{one}" for one in put}


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[Trained | Alive]:
    """Return what a trainer that is called here publishes."""
    own = {
        "REDIS_URL": "redis://x", "STREAM_REDIS_URL": "redis://x", "EVALSITE_SITE_URL": "http://x",
        "EVALSITE_NODE_KEY": "the key", "EVALSITE_TRAINER": "trainer-1",
    }  # fmt: skip
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    published = list[Trained | Alive]()
    monkeypatch.setattr("training.tasks.publish_report", lambda _, report: published.append(report))
    return published


def test_what_breaks_a_slice_is_told_and_left_to_be_tried_again(
    reports: list[Trained | Alive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "get", lambda _: dict[str, Any]()["nothing"])
    with pytest.raises(KeyError):
        train(to_wire(msgspec.structs.replace(ORDER, files=[DataFile("0" * 64, "/f")])))
    fault = reports[-1]
    assert isinstance(fault, Trained)
    assert (fault.is_given_up, fault.refusal) == (True, "KeyError: 'nothing'")


def test_what_a_slice_is_given_up_for_is_told(
    reports: list[Trained | Alive], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise UnavailableError("the web server answers 507 not stored: the disk is full")

    monkeypatch.setattr(registry, "get", refuse)
    train(to_wire(ORDER))
    ending = reports[-1]
    assert isinstance(ending, Trained)
    assert (ending.is_given_up, ending.refusal) == (True, "")
    assert ending.waits_for == "the web server answers 507 not stored: the disk is full"


def test_a_file_is_another_one_or_refused_or_not_to_be_had(
    site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.files.PAUSES_S", (0.0,))
    files = RunFiles(site, ORDER.upload)
    digest = files.put(b"a state")
    assert files.fetch(digest, f"/files/training/7/{digest}") == b"a state"
    with pytest.raises(StateError, match="another file's"):
        files.fetch(digest, "/files/training/7/other")
    link = f"/files/training/7/{digest}"
    right, wrong = DataFile(digest, link), DataFile("0" * 64, link)
    assert list(files.fetch_data([right, right])) == [b"a state", b"a state"]
    with pytest.raises(StateError, match="another file's"):
        list(files.fetch_data([right, wrong]))
    Site.status = 404
    with pytest.raises(TrainingError, match="answers 404 why"):
        files.put(b"more")
    # 403: a link that has run out, which the next order has anew.
    for Site.status in (403, 503):
        with pytest.raises(UnavailableError, match=f"answers {Site.status}"):
            files.put(b"more")
    with pytest.raises(UnavailableError, match="does not answer"):
        RunFiles("http://127.0.0.1:1", "/files").put(b"more")
