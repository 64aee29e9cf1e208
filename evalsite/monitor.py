"""The Celery app of Flower: `celery -A evalsite.monitor flower`.

It knows its own user of the broker and nothing else: a page that others wrote gets neither the
secret key nor the database, and needs no Django.
"""

import logging
import os
import sys
from queue import Empty
from typing import Any

import msgspec
import redis
from celery import Celery
from kombu import Queue
from kombu import transport as kombu_transport
from kombu.transport import redis as kombu_redis

from arena.acl import CONTROL_QUEUE
from arena.kombu_bindings import TRANSPORT_OPTIONS, CheckedPops, InProcessBindings
from arena.queues import REPORTS_QUEUE, gpu_queue
from arena.task_messages import MAX_ITEM

log = logging.getLogger(__name__)

SHOWN_QUEUES = (CONTROL_QUEUE, REPORTS_QUEUE, gpu_queue(0))

# Under the names of addresses, not as `broker_transport`: Flower shows the lengths of queues only
# of brokers whose name it knows.
kombu_transport.TRANSPORT_ALIASES |= dict.fromkeys(
    ("redis", "rediss"), "evalsite.monitor:Transport"
)

_any_json = msgspec.json.Decoder(dict[str, object])


class Client(CheckedPops, redis.Redis):
    """A client that takes only the replies to Celery's own commands, and none that is garbage."""

    priority_separator = kombu_redis.Channel.sep

    def refuse_item(self, item: bytes, queue: str) -> str | None:
        """Return why a reply cannot be taken, or None."""
        del queue
        if len(item) > MAX_ITEM:
            return f"{len(item)} bytes"
        try:
            _any_json.decode(item)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return str(error)[:200]
        return None


class Channel(InProcessBindings, kombu_redis.Channel):
    """A channel over that client; an event that cannot be read ends nothing."""

    def _get_client(self) -> type[Client]:
        return Client

    def _receive_one(self, c: Any) -> Any:
        # Events of nodes come by publish and subscribe, which no client of ours reads.
        try:
            # The stubs of kombu leave its private parts out.
            return super()._receive_one(c)  # type: ignore[misc]
        except RecursionError as error:
            log.warning("an event that cannot be read was dropped: %s", error)
            raise Empty from error


class Transport(kombu_redis.Transport):
    """Redis, with each reply and event checked before Celery sees it."""

    Channel = Channel


def read_configuration() -> dict[str, Any]:
    """Return Celery's settings; end the program where the broker's address is missing."""
    address = os.environ.get("REDIS_URL")
    if not address:
        sys.exit("REDIS_URL is missing: the address of the broker, with the user of Flower")
    return {
        "broker_url": address,
        "accept_content": ["json"],
        # Those whose lengths are shown; nobody may ask workers for theirs.
        "task_queues": [Queue(name) for name in SHOWN_QUEUES],
        "task_default_queue": CONTROL_QUEUE,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": TRANSPORT_OPTIONS,
        "timezone": "UTC",
    }


app = Celery("evalsite", set_as_current=False, fixups=[])
app.add_defaults(read_configuration)  # read when first needed: the import needs no environment
