import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from prometheus_client import generate_latest

from arena.policies.networked import Evaluation
from inference import functions
from inference.forms import Answer, BlockRequest, Fault, FaultKind
from inference.metrics import Metrics, gpu_metrics
from inference.settings import Settings
from inference.slices import Popped
from inference.tests.echo import GOOD, EchoEngine, block_of
from inference.tests.servers import Server, free_port


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()


def popped(n_rows: int, asked_ms: float) -> Popped:
    block = BlockRequest(GOOD, block_of(n_rows), np.zeros((n_rows, 0), np.float32))
    return Popped(b"", 0, "client", 1, asked_ms, 1e9, block, n_rows)


def answer() -> Evaluation:
    empty = np.zeros((1, 0), np.float32)
    return Evaluation(empty, np.zeros(1, np.float32), empty)


def test_what_happened_is_shown(server: Server) -> None:
    own = Settings(fast_url=server.url, metrics_port=1)
    engine = EchoEngine()
    engine.counts.update(models_loaded=5, models_evicted=2)
    metrics = Metrics(own, engine)
    server.client.rpush(functions.queue_key(0), b"a", b"b")
    answers: list[Answer] = [answer(), Fault(FaultKind.BAD_REQUEST, "")]
    metrics.observe([popped(3, 90.0), popped(4, 98.5)], answers, 100.0, 104.0)
    metrics.count({"requests": 2, "expired": 1})
    shown = generate_latest(metrics.registry).decode()
    for line in (
        'inference_queue_length{shard="0"} 2.0',
        "inference_models_resident 3.0",
        'inference_engine_total{what="models_loaded"} 5.0',
        'inference_slices_total{what="expired"} 1.0',
        'inference_faults_total{kind="bad_request"} 1.0',
        "inference_batch_rows_sum 7.0",
        'inference_wait_seconds_bucket{le="0.002"} 1.0',
        'inference_wait_seconds_bucket{le="0.01"} 2.0',
        'inference_service_seconds_bucket{le="0.005"} 1.0',
    ):
        assert line in shown


def test_a_fast_store_that_is_away_leaves_the_rest() -> None:
    metrics = Metrics(Settings(fast_url="redis://127.0.0.1:1/0", metrics_port=1), EchoEngine())
    shown = generate_latest(metrics.registry).decode()
    assert "inference_queue_length" not in shown
    assert "inference_models_resident 0.0" in shown


def test_it_listens_only_where_a_port_is_set(server: Server) -> None:
    own = Settings(fast_url=server.url)
    Metrics(own, EchoEngine()).open()
    port = free_port()
    Metrics(replace(own, metrics_port=port), EchoEngine()).open()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        assert b"inference_models_resident" in page.read()


def test_nothing_is_counted_while_nobody_listens(server: Server) -> None:
    metrics = Metrics(Settings(fast_url=server.url), EchoEngine())
    metrics.observe([popped(3, 0.0)], [answer()], 1.0, 2.0)
    assert "inference_batch_rows_sum 0.0" in generate_latest(metrics.registry).decode()


def test_gpus_are_shown_where_there_are_any() -> None:
    assert list(gpu_metrics(lambda: "")) == []
    busy, memory = gpu_metrics(lambda: "93, 1024\n5, 10\n")
    assert [sample.value for sample in busy.samples] == [0.93, 0.05]
    assert memory.samples[0].value == 2**30
