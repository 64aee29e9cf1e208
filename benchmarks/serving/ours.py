"""Ours as it runs: two Valkey servers, a gpu worker by the stack's own command, real clients."""

import os
import socket
import subprocess
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from celery import Celery
from prometheus_client.parser import text_string_to_metric_families

from arena.messages import DRAIN_TASK, gpu_queue
from arena.policies.network_policy import FloatBatch, Network
from benchmarks.serving.battles import Side, Spell
from benchmarks.serving.load import Asker, Served
from benchmarks.serving.networks import ref_of
from benchmarks.serving.stores import stores
from inference.client import InferenceClient, RemoteNetwork
from inference.settings import read
from launcher.folders import ROOT
from launcher.programs import ONE_THREAD, gpu_worker

READY_S = 30.0


class Doorbell:
    """Publishes the task that drains, as the parent of players does."""

    def __init__(self, broker: str) -> None:
        self._app = Celery("doorbell", broker=broker)

    def __call__(self, shard: int, lease: str) -> None:
        queue = gpu_queue(shard)
        self._app.send_task(DRAIN_TASK, (shard, lease), queue=queue, ignore_result=True)


@dataclass(frozen=True)
class OurMaker:
    """Connects a client to the queue; a block is divided evenly among the checkpoints."""

    environment: Mapping[str, str]
    checkpoints: Sequence[str]

    def __call__(self, client: int) -> Asker:
        del client
        return _OurAsker(self)


class _OurAsker:
    def __init__(self, maker: OurMaker) -> None:
        self._client = client_of(maker.environment)
        self._refs = [ref_of(checkpoint) for checkpoint in maker.checkpoints]

    def ask(self, observations: FloatBatch) -> FloatBatch:
        if len(self._refs) == 1:
            return self._client.infer(self._refs[0], observations).logits
        parts = np.split(observations, len(self._refs))
        answers = self._client.infer_many(dict(zip(self._refs, parts, strict=True)))
        return np.concatenate([answers[ref].logits for ref in self._refs])


@dataclass(frozen=True)
class OurSideMaker:
    """Connects a worker of battles to the queue, to play without a stack around."""

    environment: Mapping[str, str]
    checkpoints: Sequence[str]

    def __call__(self) -> Side:
        return _OurSide(self)


class _OurSide:
    def __init__(self, maker: OurSideMaker) -> None:
        client = client_of(maker.environment)
        self.networks: Sequence[Network] = [
            RemoteNetwork(client, ref_of(checkpoint), 0) for checkpoint in maker.checkpoints
        ]
        self.n_loads = 0
        self.spells: list[Spell] = []


def client_of(environment: Mapping[str, str]) -> InferenceClient:
    """Return a client of the queue in this process."""
    own = read(environment)
    ring = Doorbell(environment["REDIS_URL"])
    return InferenceClient(own.fast_url, settings=own, ring=ring)


def read_counts(page: str) -> dict[str, float]:
    """Return the engine's counts by what they count, and all other samples by their names.

    Slices count some of the same things under a label of the same name: added up, each would be
    there twice. So would the moment at which a counter was made, a number of 1.8e9.
    """
    counts: defaultdict[str, float] = defaultdict(float)
    for family in text_string_to_metric_families(page):
        for one in family.samples:
            if not one.name.endswith("_created"):
                is_engine = one.name == "inference_engine_total"
                counts[one.labels["what"] if is_engine else one.name] += one.value
    return counts


class Counts:
    """Reads what gpu workers tell Prometheus, each on the port after that of the one before."""

    def __init__(self, port: int, n_workers: int = 1) -> None:
        self._urls = [f"http://127.0.0.1:{port + n}/metrics" for n in range(n_workers)]

    def read(self) -> dict[str, float]:
        """Return what the engines did and every other sample by its name, summed over workers."""
        total: defaultdict[str, float] = defaultdict(float)
        for url in self._urls:
            with urllib.request.urlopen(url, timeout=5) as reply:
                counts = read_counts(reply.read().decode())
            for name, n in counts.items():
                total[name] += n
        return total

    def busy_s(self) -> float:
        """Return the seconds in which batches ran so far."""
        return self.read().get("inference_service_seconds_sum", 0.0)

    def forwards(self) -> tuple[int, int]:
        """Return the forwards and the rows that went through them so far."""
        found = self.read()
        return int(found.get("forwards", 0)), int(found.get("rows", 0))


class Ours(NamedTuple):
    """A running queue: what its clients must know, and what is read of it."""

    environment: Mapping[str, str]
    served: Served
    counts: Counts


@contextmanager
def our_server(folder: Path, cache: Path, settings: Mapping[str, str]) -> Iterator[Ours]:
    """Run two stores and a gpu worker that finds its checkpoints in the cache."""
    with stores(folder) as servers:
        urls = {"REDIS_URL": servers.broker, "FAST_REDIS_URL": servers.fast}
        port = free_port()
        # Nobody reads its reports here.
        own = {"EVALSITE_NODE_KEY": "unread", "EVALSITE_METRICS_PORT": str(port), **settings}
        own["EVALSITE_CACHE"] = str(cache)
        program = gpu_worker(1, shards=1, environment={**ONE_THREAD, **urls, **own})
        with (folder / "gpu.log").open("w") as log:
            worker = subprocess.Popen(
                program.command,
                cwd=ROOT,
                env={**os.environ, **program.environment},
                stdout=log,
                stderr=log,
            )
        counts = Counts(port)
        try:
            _wait_until_ready(counts, worker, folder / "gpu.log")
            served = Served(lambda: (worker.pid, *servers.pids), counts.forwards)
            yield Ours({**urls, **settings}, served, counts)
        finally:
            worker.terminate()
            worker.wait()


def _wait_until_ready(counts: Counts, worker: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            counts.read()
        except OSError as error:
            if worker.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the gpu worker does not start: {log.read_text()}") from error
            time.sleep(0.1)
        else:
            return


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port
