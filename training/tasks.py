"""The task of a trainer."""

import logging
import os
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from celery import Task, shared_task
from redis import Redis

from arena.errors import ArenaError, MessageError
from arena.games import registry as games
from arena.messages import MAX_DETAIL
from arena.queues import TRAIN_TASK
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
from training.slices import Report, Reporter, Slice
from training.streams import ChunkReader
from training.tensorboard import Curves

log = logging.getLogger(__name__)

OVERTIME_S: Final = 600.0
"""So much longer than its time a slice may be at work: it learns to the end of what it began."""


@shared_task(name=TRAIN_TASK, bind=True)
def train(self: "Task[..., None]", wire: dict[str, Any]) -> None:
    """Train a slice of a run; one that is lost or fails is ordered again by control."""
    settings = read_settings(os.environ)
    try:
        order = read_train_order(wire)
    except MessageError as error:
        log.error("order of a slice refused: %s", error)
        return
    if order.key != settings.key:
        log.error("slice %d of run %s is of somebody else: refused", order.slice, order.run)
        return
    alive = Alive(settings.name, order.run, order.order, order.slice, order.token, order.key)
    try:
        with giving_signs(
            lambda: publish_report(self.app, alive),
            every_s=SIGN_S,
            most=int((order.slice_s + OVERTIME_S) / SIGN_S),
        ):
            _train_slice(self.app, order, settings)
    except UnavailableError as error:
        # Nobody's fault.
        log.warning("slice %d of run %s is given up: %s", order.slice, order.run, error)
        why = str(error)[:MAX_DETAIL]
        publish_report(self.app, _make_ending(order, settings, is_given_up=True, waits_for=why))
    except (ArenaError, TrainingError) as error:
        publish_report(self.app, _make_ending(order, settings, refusal=str(error)[:MAX_DETAIL]))
    except Exception as error:
        # A plug-in's, ours, or the machine's: told to whoever waits, and tried again.
        fault = f"{type(error).__name__}: {error}"[:MAX_DETAIL]
        publish_report(self.app, _make_ending(order, settings, refusal=fault, is_given_up=True))
        raise


def _train_slice(app: Any, order: TrainOrder, settings: Settings) -> None:
    torch.set_num_threads(1)
    files = RunFiles(settings.site_url, order.upload)
    with ExitStack() as closing:
        report = _add_curves(partial(publish_report, app), order, settings, closing)
        reporter = Reporter(order, trainer=settings.name, files=files, report=report)
        _learn_slice(order, reporter, settings)


def _add_curves(
    report: Report, order: TrainOrder, settings: Settings, closing: ExitStack
) -> Report:
    """Return what also writes files for TensorBoard where settings ask for it."""
    if not settings.tensorboard:
        return report
    curves = Curves(Path(settings.tensorboard), order.run, clock_s=time.time)
    closing.callback(curves.close)

    def report_and_draw(trained: Trained) -> None:
        report(trained)
        curves.add(trained)

    return report_and_draw


def _learn_slice(order: TrainOrder, reporter: Reporter, settings: Settings) -> None:
    if trainers.get(order.algorithm).plays_matches:
        train_on_matches(order, reporter)
        return
    learning = Slice(order, reporter)
    if order.files:
        task = Learned(order.game, tuple(order.observation_shape), order.n_actions)
        reader = DatasetReader(reporter.files, order.files, task, order.seed)
        learning.run(reader, clock_s=time.monotonic)
        return
    with Redis.from_url(settings.stream_url, socket_timeout=10, socket_connect_timeout=5) as client:
        spec = games.get(order.game).spec
        chunks = ChunkReader(client, order.run, spec, slice_number=order.slice)
        learning.run(chunks, clock_s=time.monotonic)


def _make_ending(
    order: TrainOrder,
    settings: Settings,
    *,
    refusal: str = "",
    is_given_up: bool = False,
    waits_for: str = "",
) -> Trained:
    """Return the report of a slice that comes to nothing."""
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
        refusal=refusal,
        is_given_up=is_given_up,
        waits_for=waits_for,
    )
