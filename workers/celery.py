"""The Celery app of a play node: `celery -A workers worker -P solo -Q play.node-1 -n node-1@%h -E`.

The solo pool, because a prefork child may not start processes of its own: the players are ours.
"""

import os
import sys
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, worker_ready, worker_shutdown

from arena.kombu_bindings import NODE_SETTINGS
from arena.queues import play_queue
from workers import node, settings
from workers.errors import SettingsError

app = Celery("workers", include=["workers.tasks"])


def read_configuration() -> dict[str, Any]:
    """Return Celery's settings. Raises SettingsError."""
    return {**NODE_SETTINGS, "broker_url": settings.read_settings(os.environ).redis_url}


app.add_defaults(read_configuration)  # read when first needed: the import needs no environment


@celeryd_after_setup.connect
def check_queue(instance: Any, **_: object) -> None:
    """Refuse any other queue than the node's own, and a name that another process here has."""
    consumed = ",".join(instance.app.amqp.queues.consume_from)
    own = play_queue(settings.read_settings(os.environ).node)
    if consumed != own:
        # Celery logs what its signals raise and goes on, unless it is the end of the process.
        sys.exit(str(SettingsError("-Q", consumed, f"{own}, the queue of EVALSITE_NODE")))
    try:
        node.this_node()
    except SettingsError as error:
        sys.exit(str(error))


@worker_ready.connect
def open_node(**_: object) -> None:
    """Start the players once the broker can be reached."""
    node.this_node().open()


@worker_shutdown.connect
def close_node(**_: object) -> None:
    """End the players and send the last reports."""
    node.this_node().close()
