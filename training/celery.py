"""The Celery app of a trainer: `celery -A training worker -Q train -P solo`.

One slice at a time; nothing waits in `unacked`, as a slice that is lost is ordered again.
"""

import os
from typing import Any

from celery import Celery

from arena.kombu_bindings import TRANSPORT_OPTIONS
from training.settings import read_settings

app = Celery("training", include=["training.tasks"])


def configuration() -> dict[str, Any]:
    """Return Celery's settings. Raises SettingsError."""
    return {
        "broker_url": read_settings(os.environ).redis_url,
        # What is no call of ours is dropped, not fatal.
        "broker_transport": "inference.transport:Transport",
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "worker_prefetch_multiplier": 1,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        # Flower needs events only; nobody may command a trainer through the broker.
        "worker_enable_remote_control": False,
        "worker_hijack_root_logger": False,
        "broker_transport_options": TRANSPORT_OPTIONS,
    }


app.add_defaults(configuration)  # read when first needed: the import needs no environment
