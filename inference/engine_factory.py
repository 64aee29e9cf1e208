"""The engine that the settings describe: on which device, in which precision, compiled or not."""

import logging
import threading
import time

import torch

from inference.batch_invariance import FREE, POWERS, Forward, make_batch_invariant
from inference.checkpoint_store import CheckpointStore
from inference.engine import Engine
from inference.errors import SettingsError
from inference.model import Model
from inference.model_cache import ModelCache
from inference.settings import Settings
from inference.stacking import PATIENCE, Stacks
from inference.tracing import import_tracer

_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
_MODES = {"compile": "default", "graphs": "reduce-overhead"}
# Stacked weights, which are copies, may take a quarter of what the networks may.
_STACKED_SHARE = 4

log = logging.getLogger(__name__)


def build_engine(settings: Settings) -> Engine:
    """Return the engine of a gpu worker. Raises as make_engine.

    What a first trace imports comes in the background: a worker that was killed must serve soon.
    """
    engine = make_engine(settings)
    threading.Thread(target=import_tracer, name="warm", daemon=True).start()
    return engine


def make_engine(settings: Settings, *, patience: int = PATIENCE) -> Engine:
    """Return the engine. Raises SettingsError for a device that is not there, or a contradiction.

    On the CPU an operation runs on as many cores as the settings say. patience: forwards of
    siblings before they are stacked.
    """
    device, dtype = device_of(settings), _DTYPES[settings.precision]
    if settings.is_deterministic and dtype != torch.float32:
        rule = "float32 where EVALSITE_DETERMINISTIC is 1"
        raise SettingsError("EVALSITE_PRECISION", settings.precision, rule)
    if device.type == "cpu":
        torch.set_num_threads(settings.threads)
    if settings.is_deterministic:
        # What rounds more, or chooses by measuring, where bits are promised.
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
    log.info("networks run on %s in %s", device, settings.precision)
    limit_bytes = settings.cache_mb << 20
    models = ModelCache(
        CheckpointStore(settings.cache, settings.site_url),
        limit_bytes=limit_bytes,
        device=device,
        dtype=dtype,
        prepare=lambda model: prepare_forward(model, settings),
    )
    stacks = Stacks(
        models.find_loaded,
        must_be_equal=settings.is_deterministic,
        limit_bytes=limit_bytes // _STACKED_SHARE,
        patience=patience,
        # The time of others on the same cores does not count.
        clock=time.thread_time if device.type == "cpu" else time.perf_counter,
    )
    return Engine(
        models,
        stacks=stacks,
        is_deterministic=settings.is_deterministic,
        default_rule=FREE if settings.compile == "none" else POWERS,
    )


def device_of(settings: Settings) -> torch.device:
    """Return the device: with "auto" a GPU where there is one. Raises SettingsError."""
    if settings.device == "cuda" and not torch.cuda.is_available():
        raise SettingsError("EVALSITE_DEVICE", "cuda", "cpu or auto: torch finds no GPU here")
    if settings.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(settings.device)


def prepare_forward(model: Model, settings: Settings) -> Forward:
    """Return what is called for a model: its module, or that compiled."""
    if settings.is_deterministic:
        make_batch_invariant(model.module)
    if settings.compile == "none":
        return model.module
    # A graph's answer lies in memory that its next run writes to: it is copied at once.
    compiled: Forward = torch.compile(model.module, mode=_MODES[settings.compile], dynamic=False)
    return compiled
