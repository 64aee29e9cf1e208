import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from prometheus_client import generate_latest

from arena.faststore import queue_key
from arena.messages import Serving
from arena.policies.network_policy import NetworkOutput
from arena.queues import serving_key
from inference.connection import FastConnection
from inference.drain_loop import PoppedRequest
from inference.metrics import SHOWN_MS, Metrics, gpu_metrics
from inference.protocol import Answer, BlockRequest, Fault, FaultKind
from inference.settings import Settings
from inference.tests.echo import GOOD, EchoEngine, block_of
from inference.tests.servers import Server, free_port


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()


def popped(n_rows: int, asked_ms: float) -> PoppedRequest:
    block = BlockRequest(GOOD, block_of(n_rows), np.zeros((n_rows, 0), np.float32))
    return PoppedRequest(b"", 0, "client", 1, asked_ms, 1e9, block, n_rows)


def answer() -> NetworkOutput:
    empty = np.zeros((1, 0), np.float32)
    return NetworkOutput(empty, np.zeros(1, np.float32), empty)


def test_what_happened_is_shown(server: Server) -> None:
    own = Settings(fast_url=server.url, metrics_port=1)
    engine = EchoEngine()
    engine.counts.update(models_loaded=5, models_evicted=2)
    metrics = Metrics(own, engine)
    server.client.rpush(queue_key(0), b"a", b"b")
    answers: list[Answer] = [answer(), Fault(FaultKind.BAD_REQUEST, "")]
    metrics.observe_batch([popped(3, 90.0), popped(4, 98.5)], answers, 100.0, 104.0)
    metrics.count_slice({"requests": 2, "expired": 1})
    page = generate_latest(metrics.registry).decode()
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
        assert line in page


def test_a_fast_store_that_is_away_leaves_the_rest() -> None:
    metrics = Metrics(Settings(fast_url="redis://127.0.0.1:1/0", metrics_port=1), EchoEngine())
    page = generate_latest(metrics.registry).decode()
    assert "inference_queue_length" not in page
    assert "inference_models_resident 0.0" in page


def test_it_listens_only_where_a_port_is_set(server: Server) -> None:
    own = Settings(fast_url=server.url)
    Metrics(own, EchoEngine()).open()
    port = free_port()
    Metrics(replace(own, metrics_port=port), EchoEngine()).open()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        assert b"inference_models_resident" in page.read()


def test_nothing_is_counted_while_nobody_listens(server: Server) -> None:
    metrics = Metrics(Settings(fast_url=server.url), EchoEngine())
    metrics.observe_batch([popped(3, 0.0)], [answer()], 1.0, 2.0)
    assert "inference_batch_rows_sum 0.0" in generate_latest(metrics.registry).decode()


def test_what_was_done_lately_is_put_where_the_page_of_the_system_finds_it(
    server: Server,
) -> None:
    own = Settings(fast_url=server.url, gpu="gpu-7", serves=(0, 2), n_shards=3)
    engine = EchoEngine()
    metrics, connection = Metrics(own, engine), FastConnection(server.url)
    server.empty()
    server.client.rpush(queue_key(2), b"a", b"b")

    def read_figures(now_s: float) -> Serving:
        metrics.publish_figures(connection, now_s=now_s)
        return msgspec.json.decode(server.client.get(serving_key("gpu-7")), type=Serving)

    first = read_figures(100.0)
    assert (first.gpu, first.shards, first.n_waiting) == ("gpu-7", [0, 2], 2)
    assert (first.rows_per_s, first.p50_ms, first.p99_ms) == (0.0, None, None)
    engine.counts.update(models_loaded=5, models_evicted=2, requests=10, forwards=4, rows=60)
    metrics.observe_batch([popped(3, 90.0), popped(4, 98.0)], [answer()] * 2, 100.0, 104.0)
    metrics.count_slice({"requests": 2, "bad_request": 1})
    second = read_figures(102.0)
    assert (second.requests_per_s, second.forwards_per_s, second.rows_per_s) == (5.0, 2.0, 30.0)
    assert second.p50_ms == pytest.approx(10.0)
    assert second.p99_ms == pytest.approx(13.92)
    assert (second.n_models, second.n_faults) == (3, 1)
    for second_s in range(10):
        last = read_figures(103.0 + second_s)
    assert (last.rows_per_s, last.p50_ms) == (0.0, None), "ten seconds have passed"
    assert 0 < server.client.pttl(serving_key("gpu-7")) <= SHOWN_MS
    connection.close()


def test_gpus_are_shown_where_there_are_any() -> None:
    assert list(gpu_metrics(lambda: "")) == []
    busy, memory = gpu_metrics(lambda: "93, 1024\n5, 10\n")
    assert [sample.value for sample in busy.samples] == [0.93, 0.05]
    assert memory.samples[0].value == 2**30
