"""A Redis transport that survives garbage: what is no call of our tasks is dropped and logged."""

import logging
from collections.abc import Mapping
from queue import Empty
from typing import Any

import msgspec
import redis
from kombu.transport import redis as kombu_redis

from arena.errors import MessageError
from arena.kombu_bindings import CheckedPops, InProcessBindings
from arena.messages import RECORD_TASK
from arena.task_messages import MAX_ITEM, TaskForm, read_item, tasks_of_queue, timed_task
from matches import dispatch

log = logging.getLogger(__name__)

CONTROL_CALLS: Mapping[str, TaskForm] = {
    task: timed_task() for task in dispatch.NAMES if task != RECORD_TASK
}
_any_json = msgspec.json.Decoder(dict[str, object])


class Client(CheckedPops, redis.Redis):
    """A client from whose queues come only items that are what their consumers read."""

    priority_separator = kombu_redis.Channel.sep

    def refuse_item(self, item: bytes, queue: str) -> str | None:
        """Return why an item cannot be taken, or None."""
        return find_fault(item, queue)


class Channel(InProcessBindings, kombu_redis.Channel):
    """A channel over that client."""

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
    """Redis, with each item checked before Celery sees it."""

    Channel = Channel


def find_fault(item: bytes, queue: str) -> str | None:
    """Return what is wrong with an item of a queue, or None.

    Queues that are none of ours carry the replies to Celery's own commands.
    """
    calls = CONTROL_CALLS if queue == dispatch.CONTROL_QUEUE else tasks_of_queue(queue)
    try:
        if calls:
            read_item(item, calls)
        elif len(item) > MAX_ITEM:
            return f"{len(item)} bytes"
        else:
            _any_json.decode(item)
    except (MessageError, msgspec.MsgspecError, ValueError, RecursionError) as error:
        return str(error)[:200]
    return None
