"""A Redis transport that survives garbage: what is no call of our tasks is dropped and logged."""

from collections.abc import Mapping

import redis
from kombu.transport import redis as kombu_redis

from arena.errors import MessageError
from arena.kombu_bindings import CheckedPops, InProcessBindings
from arena.queues import RECORD_TASK
from arena.task_messages import TaskForm, read_item, tasks_of_queue, timed_task
from matches import dispatch

CONTROL_CALLS: Mapping[str, TaskForm] = {
    task: timed_task() for task in dispatch.NAMES if task != RECORD_TASK
}


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


class Transport(kombu_redis.Transport):
    """Redis, with each item checked before Celery sees it."""

    Channel = Channel


def find_fault(item: bytes, queue: str) -> str | None:
    """Return what is wrong with an item of a queue of this app, or None."""
    calls = CONTROL_CALLS if queue == dispatch.CONTROL_QUEUE else tasks_of_queue(queue)
    try:
        read_item(item, calls)
    except MessageError as error:
        return str(error)[:200]
    return None
