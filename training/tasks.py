"""The task of a trainer."""

import logging
import os
import time
from typing import Any, Final

import torch
from celery import Task, shared_task
from redis import Redis

from arena.errors import ArenaError, MessageError
from arena.games import registry as games
from arena.messages import MAX_DETAIL, TRAIN_TASK
from arena.train_messages import Alive, Trained, TrainOrder, read_train_order
from arena.trainers import registry as trainers
from training.base import Task as Learned
from training.datasets import DatasetReader
from training.errors import TrainingError, UnavailableError
from training.files import RunFiles
from training.match_slices import train_on_matches
from training.publisher import publish_report
from training.settings import Settings, read_settings
from training.signs import SIGN_S, giving_signs
from training.slices import Reporter, Slice
from training.streams import ChunkReader

log = logging.getLogger(__name__)

OVERTIME_S: Final = 600.0
"""So much longer than its time a slice may be at work: it learns to the end of what it began."""


@shared_task(name=TRAIN_TASK, bind=True)
def train(self: "Task[..., None]", order: dict[str, Any]) -> None:
    """Train a slice of a run; one that is lost or fails is ordered again by control."""
    settings = read_settings(os.environ)
    try:
        read = read_train_order(order)
    except MessageError as error:
        log.error("order of a slice refused: %s", error)
        return
    if read.key != settings.key:
        log.error("slice %d of run %s is of somebody else: refused", read.slice, read.run)
        return
    alive = Alive(settings.name, read.run, read.order, read.slice, read.token, read.key)
    try:
        with giving_signs(
            lambda: publish_report(self.app, alive),
            every_s=SIGN_S,
            most=int((read.slice_s + OVERTIME_S) / SIGN_S),
        ):
            _train_slice(self.app, read, settings)
    except UnavailableError as error:
        # Nobody's fault: without a report its time is over soon.
        log.warning("slice %d of run %s is given up: %s", read.slice, read.run, error)
    except (ArenaError, TrainingError) as error:
        publish_report(self.app, _refuse(read, settings, str(error)))


def _train_slice(app: Any, order: TrainOrder, settings: Settings) -> None:
    torch.set_num_threads(1)
    files = RunFiles(settings.site_url, order.upload)
    reporter = Reporter(
        order,
        trainer=settings.name,
        files=files,
        report=lambda trained: publish_report(app, trained),
    )
    if trainers.get(order.algorithm).plays_matches:
        train_on_matches(order, reporter)
        return
    one = Slice(order, reporter)
    if order.files:
        task = Learned(order.game, tuple(order.observation_shape), order.n_actions)
        one.run(DatasetReader(files, order.files, task, order.seed), clock_s=time.monotonic)
        return
    with Redis.from_url(settings.stream_url, socket_timeout=10, socket_connect_timeout=5) as client:
        spec = games.get(order.game).spec
        one.run(ChunkReader(client, order.run, spec), clock_s=time.monotonic)


def _refuse(order: TrainOrder, settings: Settings, why: str) -> Trained:
    return Trained(
        trainer=settings.name,
        run=order.run,
        order=order.order,
        slice=order.slice,
        token=order.token,
        key=order.key,
        version=0,
        n_steps=0,
        weights="",
        state="",
        metrics={},
        is_last=True,
        refusal=why[:MAX_DETAIL],
    )
