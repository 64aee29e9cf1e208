"""The Celery app of a gpu worker.

`celery -A inference worker -Q gpu -P threads -c 2 --prefetch-multiplier 1 --without-gossip
--without-mingle -E`: threads, because CUDA does not survive a fork; two, so that a check of an
upload keeps nobody waiting, while the engine answers one batch at a time.
"""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import worker_ready, worker_shutdown

from arena.kombu_bindings import NODE_SETTINGS
from inference import node, settings
from inference.errors import InferenceError

log = logging.getLogger(__name__)

app = Celery("inference", include=["inference.tasks"])


def read_configuration() -> dict[str, Any]:
    """Return Celery's settings. Raises SettingsError."""
    return {
        **NODE_SETTINGS,
        "broker_url": settings.read_worker_settings(os.environ).redis_url,
        "worker_pool": "threads",
        "worker_concurrency": 2,
    }


app.add_defaults(read_configuration)  # read when first needed: the import needs no environment


@worker_ready.connect
def open_node(**_: object) -> None:
    """Load torch and begin to serve; a worker that cannot ends."""
    try:
        node.this_worker().open()
    except (InferenceError, ImportError, OSError) as error:
        # Celery would log it and go on without an engine.
        log.critical("this worker cannot serve: %s", error)
        raise SystemExit(node.EXIT_BROKEN) from error


@worker_shutdown.connect
def close_node(**_: object) -> None:
    """Give back what is held."""
    if node.this_worker.cache_info().currsize:  # or closing would load torch
        node.this_worker().close()
