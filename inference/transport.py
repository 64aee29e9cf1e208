"""A Redis transport of play and gpu nodes that survives garbage: what is no call is dropped."""

import hmac
import os
from typing import Any

import redis
from kombu.transport import redis as kombu_redis

from arena.errors import MessageError
from arena.kombu_bindings import CheckedPops, InProcessBindings
from arena.messages import CheckOrder
from arena.task_messages import read_item, tasks_of_queue

KEY_VARIABLE = "EVALSITE_NODE_KEY"


class Client(CheckedPops, redis.Redis):
    """A client from whose queues come only items that are what their consumers read."""

    priority_separator = kombu_redis.Channel.sep

    def refuse_item(self, item: bytes, queue: str) -> str | None:
        """Return why an item is no call of ours, or None."""
        try:
            check_call(read_item(item, tasks_of_queue(queue)))
        except MessageError as error:
            return str(error)
        return None


def check_call(arguments: tuple[Any, ...]) -> None:
    """Refuse the order of a check that is not from control. Raises MessageError.

    Here, before Celery sees it: play nodes push doorbells to the same queue, and checks may wait
    for a time and keep both threads of a gpu worker busy.
    """
    order = arguments[0] if arguments else None
    if not isinstance(order, CheckOrder):
        return
    own = os.environ.get(KEY_VARIABLE, "")
    if not own or not hmac.compare_digest(own.encode(), order.key.encode(errors="replace")):
        raise MessageError("a check without the key of gpu workers")


class Channel(InProcessBindings, kombu_redis.Channel):
    """A channel over that client."""

    def _get_client(self) -> type[Client]:
        return Client


class Transport(kombu_redis.Transport):
    """Redis, with each item checked before Celery sees it."""

    Channel = Channel
