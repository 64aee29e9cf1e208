"""What Prometheus is told of a gpu worker; nothing listens unless EVALSITE_METRICS_PORT is set."""

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from arena.faststore import queue_key
from arena.queues import serving_key
from inference.connection import FastConnection
from inference.drain_loop import PoppedRequest
from inference.errors import InferenceError
from inference.protocol import Answer, Answerer, Fault, FaultKind
from inference.recent_stats import RecentStats
from inference.settings import Settings

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
ROWS = tuple(float(2**power) for power in range(13))
GPU_QUERY = ("--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits")
GPU_LIMIT_S = 5.0
# What a worker that is gone said of itself is shown for so long.
SHOWN_MS = 10_000


class Metrics:
    """Counts and times of one worker, in a registry of its own."""

    def __init__(self, own: Settings, engine: Answerer) -> None:
        """engine: whose counts are shown."""
        self._own, self._engine = own, engine
        self._recent_stats = RecentStats(own.gpu, own.serves)
        self._n_faults = 0
        self.registry = registry = CollectorRegistry()
        self._wait = Histogram(
            "inference_wait_seconds",
            "From asking to the start of the forward",
            buckets=SECONDS,
            registry=registry,
        )
        self._service = Histogram(
            "inference_service_seconds", "Time of a batch", buckets=SECONDS, registry=registry
        )
        self._rows = Histogram(
            "inference_batch_rows", "Rows of a batch", buckets=ROWS, registry=registry
        )
        self._done = Counter(
            "inference_slices", "What slices did, by name", ["what"], registry=registry
        )
        self._faults = Counter(
            "inference_faults", "Requests without an answer", ["kind"], registry=registry
        )
        registry.register(_ScrapedMetrics(own, engine))

    def open(self) -> None:
        """Listen, if a port is set."""
        if self._own.metrics_port:
            start_http_server(
                self._own.metrics_port, addr=self._own.metrics_host, registry=self.registry
            )

    def observe_batch(
        self,
        batch: Sequence[PoppedRequest],
        answers: Sequence[Answer],
        began_ms: float,
        ended_ms: float,
    ) -> None:
        """Take note of a batch; hardly more than its times while nobody listens."""
        self._recent_stats.note_batch(batch, ended_ms)
        if not self._own.metrics_port:
            return
        self._service.observe((ended_ms - began_ms) / 1000)
        self._rows.observe(sum(popped.n_rows for popped in batch))
        for popped, answer in zip(batch, answers, strict=True):
            self._wait.observe(max(0.0, began_ms - popped.asked_ms) / 1000)
            if isinstance(answer, Fault):
                self._faults.labels(answer.kind.value).inc()

    def count_slice(self, counts: Mapping[str, int]) -> None:
        """Take note of a slice."""
        for counter, n in counts.items():
            self._done.labels(counter).inc(n)
        self._n_faults += sum(counts.get(kind.value, 0) for kind in FaultKind)

    def publish_figures(self, connection: FastConnection, *, now_s: float) -> None:
        """Put what was done lately where the page of the system finds it.

        Raises ConnectionLostError and redis.ResponseError.
        """
        n_waiting = sum(connection.call("LLEN", queue_key(s)) for s in self._own.serves)
        figures = self._recent_stats.take_figures(
            self._engine.counts, n_waiting=n_waiting, n_faults=self._n_faults, now_s=now_s
        )
        key = serving_key(self._own.gpu)
        connection.call("SET", key, msgspec.json.encode(figures), "PX", SHOWN_MS)


class _ScrapedMetrics(Collector):
    """What is looked up when Prometheus asks: queues, models, the GPU."""

    def __init__(self, own: Settings, engine: Answerer) -> None:
        self._own, self._engine = own, engine
        self._connection, self._lock = FastConnection(own.fast_url), threading.Lock()

    def describe(self) -> Iterator[Metric]:
        """Name nothing ahead: registering must not ask the fast store."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the figures of now."""
        yield from self._queue_metrics()
        counts = self._engine.counts
        # By name, so that a count that the engine gains needs no change here.
        engine = CounterMetricFamily("inference_engine", "What the engine did", labels=["what"])
        for counter, n in counts.items():
            engine.add_metric([counter], n)
        yield engine
        n_resident = counts.get("models_loaded", 0) - counts.get("models_evicted", 0)
        yield GaugeMetricFamily("inference_models_resident", "Models loaded", value=n_resident)
        yield from gpu_metrics(_ask_gpu)

    def _queue_metrics(self) -> Iterator[Metric]:
        lengths = GaugeMetricFamily("inference_queue_length", "Requests", labels=["shard"])
        shards = self._own.serves
        try:
            with self._lock:  # each scrape has a thread of its own
                n_waiting = self._connection.exchange([("LLEN", queue_key(s)) for s in shards])
        except InferenceError:
            return  # the figure is missing, as the fast store is
        for shard, n in zip(shards, n_waiting, strict=True):
            lengths.add_metric([str(shard)], n)
        yield lengths


def gpu_metrics(ask: Callable[[], str]) -> Iterator[Metric]:
    """Yield utilisation and memory of the GPUs; ask returns nvidia-smi's lines, none without it."""
    lines = [line.split(",") for line in ask().splitlines() if line.strip()]
    if not lines:
        return
    busy = GaugeMetricFamily("inference_gpu_utilisation", "Share of time", labels=["gpu"])
    memory = GaugeMetricFamily("inference_gpu_memory_bytes", "Memory in use", labels=["gpu"])
    for index, (percent, mebibytes) in enumerate(lines):
        busy.add_metric([str(index)], float(percent) / 100)
        memory.add_metric([str(index)], float(mebibytes) * 2**20)
    yield busy
    yield memory


def _ask_gpu() -> str:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ""
    try:
        ran = subprocess.run(
            (program, *GPU_QUERY), capture_output=True, text=True, timeout=GPU_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout if ran.returncode == 0 else ""
