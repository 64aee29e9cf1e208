import threading
from typing import Any

import pytest
from celery.worker import state

from arena.faststore import leases_key
from arena.machine import read_versions
from inference import node
from inference.connection import FastConnection
from inference.node import Node, SerialEngine
from inference.settings import Settings
from inference.tests.echo import EchoEngine
from inference.tests.servers import Server

flags: Any = state


@pytest.mark.parametrize(
    ("should_stop", "should_terminate", "is_stopping"),
    [(None, None, False), (False, None, False), (0, None, True), (1, None, True), (None, 0, True)],
)
def test_an_exit_code_means_stop_also_when_it_is_zero(
    monkeypatch: pytest.MonkeyPatch,
    should_stop: int | None,
    should_terminate: int | None,
    is_stopping: bool,
) -> None:
    monkeypatch.setattr(flags, "should_stop", should_stop)
    monkeypatch.setattr(flags, "should_terminate", should_terminate)
    assert node.is_stopping() is is_stopping


def test_a_broken_engine_ends_the_worker_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "should_stop", None)
    node.stop_broken()
    assert flags.should_stop == 70


def test_a_worker_is_idle_while_it_has_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    assert node.is_idle()
    monkeypatch.setattr(flags, "active_requests", {"a task"})
    assert not node.is_idle()


def test_versions_say_what_decides_an_answer() -> None:
    assert {"python", "numpy", "torch", "celery"} <= set(read_versions(node.PACKAGES))


def test_an_engine_never_answers_two_batches_at_once() -> None:
    engine = EchoEngine()
    alone, n_inside, most = SerialEngine(engine), [0], [0]

    def inside(_: object) -> None:
        n_inside[0] += 1
        most[0] = max(most[0], n_inside[0])
        threading.Event().wait(0.01)
        n_inside[0] -= 1

    engine.before = inside
    threads = [threading.Thread(target=alone.answer, args=([],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]
    assert len(engine.batches) == 4


class Rung:
    """A publisher that is not asked anything."""

    def publish_doorbell(self, shard: int, lease: str) -> None:
        """Say nothing."""


def test_a_second_drainer_of_a_shard_takes_its_doorbell_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server()
    try:
        server.load()
        own = Settings(redis_url=server.url, fast_url=server.url)
        worker = Node(own, incarnation="0" * 32, publisher=Rung(), engine=EchoEngine())  # type: ignore[arg-type]
        monkeypatch.setattr(node, "LEAVING_S", 0.0)
        connection = FastConnection(server.url)
        connection.call("ZADD", leases_key(0), "9e15", "ring:7")
        monkeypatch.setattr(node, "drain", lambda *_: worker.drain_shard(0, "7"))
        assert worker.drain_shard(0, "6") == {"surplus": 1}
        assert connection.call("ZCARD", leases_key(0)) == 0
        worker.close()
    finally:
        server.kill()
