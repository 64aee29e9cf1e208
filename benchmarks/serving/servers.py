"""The servers of networks that are compared, and how a client asks each of them.

A copy each, plain Celery, an ideal ZMQ server, and ours as it runs: two Valkey servers, a gpu
worker by the stack's own command, real clients.
"""

import base64
import ctypes
import json
import os
import socket
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zmq
from celery import Celery
from prometheus_client.parser import text_string_to_metric_families

from arena.policies.network_policy import FloatBatch
from arena.queues import DRAIN_TASK, gpu_queue
from benchmarks.networks import Checkpoint, Forward
from benchmarks.serving.load import Asker, Served, make_context
from benchmarks.stacks import run_program, run_servers, wait_until
from inference.client import InferenceClient
from inference.settings import read_settings
from launcher.programs import ONE_THREAD, PYTHON, gpu_worker

READY_S = 30.0
FORWARD_TASK = "bench.forward"
MAX_REQUESTS = 1024
URL, PATHS = "BENCH_CELERY_URL", "BENCH_CELERY_PATHS"


def load_whole(path: Path) -> Asker:
    """Give a client the network for itself: the limit, nobody is in between."""
    return Forward(path).answer_logits


def load_by_row(path: Path) -> Asker:
    """Give a client the network for itself, with one forward per row, as in seed document 2."""
    forward = Forward(path)
    return lambda block: np.concatenate([forward.answer_logits(row[None]) for row in block])


def make_celery_app(url: str) -> Celery:
    app = Celery("bench", broker=url, backend=url)
    app.conf.result_expires = 60
    return app


# The worker below imports this module as its app; elsewhere there is no network in it.
app = make_celery_app(os.environ.get(URL, ""))
NETWORKS = {name: Forward(Path(p)) for name, p in json.loads(os.environ.get(PATHS, "{}")).items()}


@app.task(name=FORWARD_TASK)
def answer_task(network: str, observations: str) -> str:
    """Answer one request: base64 in JSON, one forward each."""
    packed = bytearray(base64.b64decode(observations))
    return base64.b64encode(NETWORKS[network].answer_bytes(packed).tobytes()).decode()


def connect_celery(url: str, network: str, width: int) -> Asker:
    """Connect to a worker of plain Celery: one task per request, its answer in Redis."""
    celery = make_celery_app(url)

    def ask(observations: FloatBatch) -> FloatBatch:
        packed = base64.b64encode(observations.tobytes()).decode()
        waiting = celery.send_task(FORWARD_TASK, (network, packed))
        answer = np.frombuffer(base64.b64decode(waiting.get()), dtype=np.float32)
        return answer.reshape(-1, width)[:, :-1]

    return ask


@contextmanager
def run_celery(folder: Path, paths: Mapping[str, Path]) -> Iterator[tuple[str, Served]]:
    """Run the plain way; yield its address and what to read of it.

    With one process and else as Celery comes. Solo pool, prefetching 16, no gossip, mingle or
    heartbeat were tried: within the noise.
    """
    named = json.dumps({name: str(path) for name, path in paths.items()})
    command = (PYTHON, "-m", "celery", "-A", "benchmarks.serving.servers", "worker")
    options = ("--concurrency", "1", "--loglevel", "WARNING")
    with run_servers(folder) as servers:
        variables = {URL: servers.broker, PATHS: named}
        log = folder / "celery.log"
        with run_program([*command, *options], log, **variables) as worker:
            yield servers.broker, Served(lambda: (worker.pid, *servers.pids))


def connect_zmq(address: str, network: str, width: int) -> Asker:
    dealer: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
    dealer.connect(address)

    def ask(observations: FloatBatch) -> FloatBatch:
        dealer.send_multipart((network.encode(), observations.tobytes()))
        return np.frombuffer(dealer.recv(), dtype=np.float32).reshape(-1, width)[:, :-1]

    return ask


@contextmanager
def run_zmq(paths: Mapping[str, Path]) -> Iterator[tuple[str, Served]]:
    """Run the bar in a process of its own; yield its address and what to read of it."""
    context = make_context()
    counts: Any = context.RawArray(ctypes.c_longlong, 2)
    own_end, child_end = context.Pipe()
    server = context.Process(target=serve_zmq, args=(paths, counts, child_end), daemon=True)
    server.start()
    child_end.close()
    try:
        yield own_end.recv(), Served(lambda: (server.pid or 0,), lambda: (counts[0], counts[1]))
    finally:
        server.kill()
        server.join()


def serve_zmq(paths: Mapping[str, Path], counts: Any, ready: Connection) -> None:
    """Merge all that waits into one forward per network; never wait for more."""
    networks = {name.encode(): Forward(path) for name, path in paths.items()}
    router: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
    port = router.bind_to_random_port("tcp://127.0.0.1")
    ready.send(f"tcp://127.0.0.1:{port}")
    while True:
        waiting: dict[bytes, list[tuple[bytes, bytes]]] = defaultdict(list)
        for client, name, packed in receive_all(router):
            waiting[name].append((client, packed))
        for name, requests in waiting.items():
            # Writable memory: torch warns of tensors over read-only bytes.
            merged = bytearray().join([packed for _, packed in requests])
            answers = networks[name].answer_bytes(merged)
            counts[0] += 1
            counts[1] += len(answers)
            answered, begin = answers.tobytes(), 0
            for client, packed in requests:
                # As large a part of the answers as the client had of the question.
                end = begin + len(packed) * len(answered) // len(merged)
                router.send_multipart((client, answered[begin:end]))
                begin = end


def receive_all(router: zmq.Socket[bytes]) -> Iterator[list[bytes]]:
    """Wait for one request, then take every other that is there."""
    yield router.recv_multipart()
    try:
        for _ in range(MAX_REQUESTS - 1):
            yield router.recv_multipart(zmq.NOBLOCK)
    except zmq.Again:
        return


def connect_ours(environment: Mapping[str, str], checkpoints: Sequence[Checkpoint]) -> Asker:
    """Connect to our queue; a block is divided evenly among the checkpoints."""
    own, refs = read_settings(environment), [checkpoint.ref for checkpoint in checkpoints]
    celery = Celery("doorbell", broker=environment["REDIS_URL"])

    def ring(shard: int, lease: str) -> None:
        # The task that drains, as the parent of players publishes it.
        queue = gpu_queue(shard)
        celery.send_task(DRAIN_TASK, (shard, lease), queue=queue, ignore_result=True)

    client = InferenceClient(own.fast_url, settings=own, ring=ring)

    def ask(observations: FloatBatch) -> FloatBatch:
        parts = np.split(observations, len(refs))
        answers = client.infer_many(dict(zip(refs, parts, strict=True)))
        return np.concatenate([answers[ref].logits for ref in refs])

    # As a player with one network asks.
    return ask if len(refs) > 1 else lambda block: client.infer(refs[0], block).logits


class Ours(NamedTuple):
    """A running queue: what its clients must know, and what is read of it."""

    environment: Mapping[str, str]
    served: Served


@contextmanager
def run_ours(folder: Path, cache: Path, settings: Mapping[str, str]) -> Iterator[Ours]:
    """Run two stores and a gpu worker that finds its checkpoints in the cache."""
    with run_servers(folder) as servers:
        port, log = find_free_port(), folder / "gpu.log"
        own = {
            "EVALSITE_NODE_KEY": "unread",  # nobody reads its reports here
            "EVALSITE_METRICS_PORT": str(port),
            "EVALSITE_CACHE": str(cache),
            **servers.variables,
            **settings,
        }
        # As the launcher would run it, so that what is measured is what is run.
        program = gpu_worker(1, shards=1, environment={**ONE_THREAD, **own})
        with run_program(program.command, log, **program.environment) as worker:

            def is_up() -> bool:
                if worker.poll() is not None:
                    raise RuntimeError(f"the gpu worker does not start: {log.read_text()}")
                try:
                    read_metrics(port)
                except OSError:
                    return False
                return True

            # Its port of metrics opens when it takes work.
            wait_until(is_up, limit_s=READY_S, what="the start of a gpu worker")
            served = Served(lambda: (worker.pid, *servers.pids), partial(count_forwards, port))
            yield Ours({**servers.variables, **settings}, served)


def count_forwards(port: int) -> tuple[int, int]:
    counts = read_metrics(port)
    return int(counts.get("forwards", 0)), int(counts.get("rows", 0))


def read_metrics(port: int, n_workers: int = 1) -> dict[str, float]:
    """Return what gpu workers tell Prometheus, each on the port after that of the one before.

    What the engines did, and every other sample by its name, summed over workers.
    """
    total: defaultdict[str, float] = defaultdict(float)
    for number in range(n_workers):
        url = f"http://127.0.0.1:{port + number}/metrics"
        with urllib.request.urlopen(url, timeout=5) as reply:
            for name, n in parse_metrics(reply.read().decode()).items():
                total[name] += n
    return total


def parse_metrics(page: str) -> dict[str, float]:
    """Return the engine's counts by what they count, and all other samples by their names.

    Slices count some of the same things under a label of the same name: added up, each would be
    there twice. So would the moment at which a counter was made, a number of 1.8e9.
    """
    counts: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                is_engine = sample.name == "inference_engine_total"
                counts[sample.labels["what"] if is_engine else sample.name] += sample.value
    return counts


def find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
