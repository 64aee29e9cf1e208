import threading
from typing import Any

import pytest
from celery.worker import state

from inference import node
from inference.node import Alone
from inference.tests.echo import EchoEngine

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
    assert {"python", "numpy", "torch", "celery"} <= set(node.versions())


def test_an_engine_never_answers_two_batches_at_once() -> None:
    engine = EchoEngine()
    alone, n_inside, most = Alone(engine), [0], [0]

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
