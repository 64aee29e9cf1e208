"""A real Celery worker, two real servers, and the real engine with small networks."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil
import pytest
from celery import Celery

from arena.faststore import queue_key
from arena.messages import Alive, Checked, CheckOrder, to_wire
from arena.policies.network_policy import FloatBatch
from arena.queues import CHECK_TASK, DRAIN_TASK, gpu_queue
from arena.tests.deadly import DEADLY
from inference.client import InferenceClient, shard_of
from inference.errors import RequestError, UnavailableError
from inference.protocol import CheckpointRef
from inference.settings import Settings
from inference.tests.sealed import BOARD, N_ACTIONS, Folder, ref_of
from inference.tests.servers import Server, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def command(queues: str) -> tuple[str, ...]:
    worker = ("-m", "celery", "-A", "inference", "worker", "-P", "threads", "-c", "2", "-Q", queues)
    quiet = ("--prefetch-multiplier", "1", "--without-gossip", "--without-mingle", "-E")
    return (sys.executable, *worker, *quiet, "-l", "INFO", "-n", f"{queues}@%h")


class Stack:
    """A broker, a fast store, a folder of checkpoints, and the workers a test starts."""

    def __init__(self, folder: Path) -> None:
        self.broker, self.fast, self.folder = Server(), Server(), folder
        checkpoints = Folder(folder / "cache")
        self.refs = [checkpoints.add("mlp", {}, seed=seed) for seed in range(4)]
        self.workers: list[psutil.Popen] = []
        self.environ = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            "REDIS_URL": self.broker.url,
            "FAST_REDIS_URL": self.fast.url,
            "EVALSITE_CACHE": str(folder / "cache"),
            "EVALSITE_GPU": "gpu-1",
            "EVALSITE_NODE_KEY": "7" * 64,
            "EVALSITE_LEASE_MS": "1000",
            "EVALSITE_SLICE_MS": "300",
            "EVALSITE_LINGER_MS": "50",
            "OMP_NUM_THREADS": "1",
        }
        self._celery: Any = Celery(broker=self.broker.url, set_as_current=False)

    @property
    def log(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("log-*")))

    def start(self, queues: str = "gpu", **variables: str) -> psutil.Popen:
        log = self.folder / f"log-{len(self.workers)}"
        with log.open("w") as file:
            worker = psutil.Popen(
                command(queues),
                cwd=ROOT,
                env={**self.environ, **variables},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        self.workers.append(worker)
        return worker

    def send(self, task: str, *arguments: object) -> None:
        self._celery.send_task(task, arguments, queue=gpu_queue(0), ignore_result=True)

    def client(self, **changes: Any) -> InferenceClient:
        settings = replace(Settings(retry_after_ms=500, deadline_ms=60_000), **changes)
        return InferenceClient(self.fast.url, settings=settings, ring=self.ring)

    def ring(self, shard: int, lease: str) -> None:
        self._celery.send_task(
            DRAIN_TASK, (shard, lease), queue=gpu_queue(shard), ignore_result=True
        )

    @property
    def running(self) -> list[psutil.Popen]:
        return [worker for worker in self.workers if worker.poll() is None]

    def stop(self) -> None:
        for worker in self.running:
            worker.send_signal(signal.SIGTERM)
        for worker in self.workers:
            worker.wait(30)

    def close(self) -> None:
        for worker in self.running:
            worker.kill()
            worker.wait()
        self.broker.kill()
        self.fast.kill()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    stack = Stack(tmp_path_factory.mktemp("gpu"))
    try:
        yield stack
    finally:
        stack.close()


@pytest.fixture
def worker(stack: Stack) -> psutil.Popen:
    """Have one worker, that of an earlier test if it still runs."""
    if len(stack.running) != 1:
        stack.stop()
        stack.start()
    return stack.running[0]


@pytest.fixture
def empty(stack: Stack) -> Stack:
    """Have no worker, and nothing in the servers."""
    stack.stop()
    stack.fast.empty()
    stack.broker.empty()
    return stack


def rows(n: int, seed: int = 0) -> FloatBatch:
    return np.random.default_rng(seed).random((n, *BOARD), np.float32)


class Asking(threading.Thread):
    """A client that asks until it is told to stop, and keeps what failed."""

    def __init__(self, stack: Stack, ref: CheckpointRef, **changes: Any) -> None:
        super().__init__(daemon=True)
        self.n_asked, self.failed, self.is_stopping = 0, "", False
        self._client = stack.client(**changes)
        self._ref = ref
        self.start()

    @property
    def n_sent_again(self) -> int:
        return self._client.n_sent_again

    def run(self) -> None:
        block = rows(3)
        expected = self._client.infer(self._ref, block)
        while not self.is_stopping:
            answer = self._client.infer(self._ref, block)
            if not np.allclose(answer.logits, expected.logits, atol=1e-5):
                self.failed = "another answer"
                return
            self.n_asked += 1

    def stop(self) -> None:
        self.is_stopping = True
        self.join(60)
        assert not self.is_alive()
        assert not self.failed


def test_a_worker_answers_and_says_that_it_lives(empty: Stack) -> None:
    stack = empty
    stack.start()
    client = stack.client()
    answers = client.infer_many({ref: rows(n + 1) for n, ref in enumerate(stack.refs)})
    shapes = [answers[ref].logits.shape for ref in stack.refs]
    assert shapes == [(n + 1, N_ACTIONS) for n in range(4)]
    alive, *_ = [report for report in stack.broker.reports() if isinstance(report, Alive)]
    assert (alive.node, alive.capabilities) == ("gpu-1", ["gpu"])
    assert "torch" in alive.versions
    wait_until(lambda: "'models_loaded': 4" in stack.log, "the slice says what it did")


def test_only_the_guilty_request_fails(stack: Stack, worker: psutil.Popen) -> None:
    client, (ref, *_) = stack.client(), stack.refs
    stack.fast.client.rpush(queue_key(0), b"no request")
    stack.broker.client.lpush(gpu_queue(0), *DEADLY)
    broken = rows(2)
    broken[1, 0, 0, 0] = np.nan
    tickets = {
        "good": client.submit(ref, rows(2)),
        "missing": client.submit(ref_of("e" * 64), rows(2)),
        "shape": client.submit(ref, np.zeros((2, 5), np.float32)),
        "nan": client.submit(ref, broken),
        "too": client.submit(ref, rows(1)),
    }
    for name, error in (
        ("missing", UnavailableError),
        ("shape", RequestError),
        ("nan", RequestError),
    ):
        with pytest.raises(error):
            client.result(tickets[name])
    assert client.result(tickets["good"]).logits.shape == (2, N_ACTIONS)
    assert client.result(tickets["too"]).logits.shape == (1, N_ACTIONS)
    wait_until(lambda: "'dropped': 1" in stack.log, "what is no request is counted")
    dropped = "an item of queue gpu was dropped"
    wait_until(lambda: stack.log.count(dropped) >= len(DEADLY), "what is deadly is dropped")
    assert stack.running == [worker]


def test_a_checkpoint_is_checked_and_the_verdict_reported(
    stack: Stack, worker: psutil.Popen
) -> None:
    stack.broker.reports()
    ref = stack.refs[0]
    about = ("token", "connect_four", N_ACTIONS, list(BOARD), "7" * 64)
    order = CheckOrder(ref.checkpoint, ref.source, *about)
    stack.send(CHECK_TASK, {"checkpoint": "no hash"})
    stack.send(CHECK_TASK, to_wire(msgspec.structs.replace(order, key="8" * 64, token="forged")))
    stack.send(CHECK_TASK, to_wire(order))
    verdicts: list[Checked] = []

    def is_there() -> bool:
        verdicts.extend(r for r in stack.broker.reports() if isinstance(r, Checked))
        return bool(verdicts)

    wait_until(is_there, "the verdict comes")
    (verdict,) = verdicts
    assert (verdict.token, verdict.refusal, verdict.node) == ("token", "", "gpu-1")
    assert verdict.n_parameters > 0
    assert "an item of queue gpu was dropped: Expected `str` matching" in stack.log
    assert "an item of queue gpu was dropped: a check without the key" in stack.log


def test_the_fast_store_restarts_under_load(stack: Stack, worker: psutil.Popen) -> None:
    asking = [Asking(stack, ref) for ref in stack.refs[:2]]
    wait_until(lambda: all(each.n_asked > 20 for each in asking), "answers come")
    stack.fast.kill()
    stack.fast.start()
    before = [each.n_asked for each in asking]
    wait_until(
        lambda: all(each.n_asked > n + 20 for each, n in zip(asking, before, strict=True)),
        "answers come again",
    )
    for each in asking:
        each.stop()


def test_told_to_stop_a_worker_ends_after_its_batch_and_the_next_goes_on(
    stack: Stack, worker: psutil.Popen
) -> None:
    asking = [Asking(stack, ref, retry_after_ms=60_000) for ref in stack.refs[:2]]
    wait_until(lambda: all(each.n_asked > 20 for each in asking), "answers come")
    n_sent_again = [each.n_sent_again for each in asking]
    began = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert time.monotonic() - began < 10
    before = [each.n_asked for each in asking]
    stack.start()
    wait_until(
        lambda: all(each.n_asked > n + 20 for each, n in zip(asking, before, strict=True)),
        "the next worker answers",
    )
    for each in asking:
        each.stop()
    assert [each.n_sent_again for each in asking] == n_sent_again, "nothing was lost"


def test_a_killed_worker_loses_no_request(stack: Stack, worker: psutil.Popen) -> None:
    asking = [Asking(stack, ref) for ref in stack.refs]
    wait_until(lambda: all(each.n_asked > 20 for each in asking), "answers come")
    worker.kill()
    worker.wait()
    before = [each.n_asked for each in asking]
    stack.start()
    wait_until(
        lambda: all(each.n_asked > n + 20 for each, n in zip(asking, before, strict=True)),
        "the next worker answers",
    )
    for each in asking:
        each.stop()
    assert sum(each.n_sent_again for each in asking) >= 1


def test_doorbells_do_not_pile_up_while_no_worker_is_there(empty: Stack) -> None:
    stack = empty
    client = stack.client(retry_after_ms=20, deadline_ms=1_500)
    with pytest.raises(UnavailableError):
        client.infer(stack.refs[0], rows(1))
    assert client.n_sent_again == 0, "it still waits"
    assert stack.broker.doorbells() == 0
    ticket = stack.client().submit(stack.refs[0], rows(1))
    assert ticket.answer is None
    stack.start()
    wait_until(lambda: not stack.fast.n_waiting(), "the first worker finds what waits")


def test_several_workers_serve_their_shards(empty: Stack) -> None:
    stack = empty
    variables = {"EVALSITE_SHARDS": "2"}
    workers = [
        stack.start(gpu_queue(n), EVALSITE_SERVES=str(n), EVALSITE_GPU=f"gpu-{n}", **variables)
        for n in range(2)
    ]
    assert {shard_of(ref.checkpoint, 2) for ref in stack.refs} == {0, 1}
    asking = [Asking(stack, ref, n_shards=2) for ref in stack.refs]
    wait_until(lambda: all(each.n_asked > 50 for each in asking), "answers come")
    for each in asking:
        each.stop()
    stack.stop()
    assert [worker.returncode for worker in workers] == [0, 0]


def test_a_worker_that_cannot_serve_ends_and_says_why(empty: Stack) -> None:
    stack = empty
    worker = stack.start(EVALSITE_DEVICE="cuda", CUDA_VISIBLE_DEVICES="")
    assert worker.wait(60) == 70
    assert "this worker cannot serve: EVALSITE_DEVICE is 'cuda'" in stack.log


def test_without_an_address_of_the_fast_store_it_does_not_start(stack: Stack) -> None:
    worker = stack.start(FAST_REDIS_URL="")
    assert worker.wait(60) != 0
    assert "FAST_REDIS_URL is '': must be an address" in stack.log


def test_the_app_needs_neither_django_nor_torch() -> None:
    program = (
        "import sys; sys.modules['django'] = sys.modules['torch'] = None;"
        "import inference.celery, inference.tasks, inference.client"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=60)
