"""The Celery app of a trainer: `celery -A training worker -Q train -P solo`.

One slice at a time; nothing waits in `unacked`, as a slice that is lost is ordered again.
"""

import os
from typing import Any

from celery import Celery

from arena.kombu_bindings import NODE_SETTINGS
from training.settings import read_settings

app = Celery("training", include=["training.tasks"])


def read_configuration() -> dict[str, Any]:
    """Return Celery's settings. Raises SettingsError."""
    return {**NODE_SETTINGS, "broker_url": read_settings(os.environ).redis_url}


app.add_defaults(read_configuration)  # read when first needed: the import needs no environment
