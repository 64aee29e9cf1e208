"""Ours as it runs: two Valkey servers, a gpu worker started by Celery's command, real clients."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from celery import Celery

from arena.messages import DRAIN_TASK, gpu_queue
from arena.policies.networked import Block
from benchmarks.serving.load import Asker, Served
from benchmarks.serving.networks import ref_of
from benchmarks.serving.stores import stores
from evalsite.folders import ROOT
from inference.client import CheckpointRef, InferenceClient
from inference.settings import read


class Doorbell:
    """Publishes the task that drains, as the parent of players does."""

    def __init__(self, broker: str) -> None:
        self._app = Celery("doorbell", broker=broker)

    def __call__(self, shard: int, lease: str) -> None:
        self._app.send_task(DRAIN_TASK, (shard, lease), queue=gpu_queue(shard), ignore_result=True)


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

    def ask(self, observations: Block) -> Block:
        if len(self._refs) == 1:
            return self._client.infer(self._refs[0], observations).logits
        parts = np.split(observations, len(self._refs))
        answers = self._client.infer_many(dict(zip(self._refs, parts, strict=True)))
        return np.concatenate([answers[ref].logits for ref in self._refs])


def client_of(environment: Mapping[str, str]) -> InferenceClient:
    """Return a client of the queue in this process."""
    settings = read(environment)
    return InferenceClient(settings.fast_url, settings=settings, ring=Doorbell(settings.redis_url))
