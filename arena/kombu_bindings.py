"""What all our programs change in kombu: mixed into its classes, which the core does not import.

Which queue a message goes to is kept in each process instead of in the broker.
Kombu's Redis channel keeps that in sets, `_kombu.binding.<exchange>`: whoever may write them sends
other programs' messages elsewhere, too, and every consumer and publisher has to write them. All our
queues are named by their publisher, so nobody needs to read them.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

log = logging.getLogger(__name__)

TRANSPORT_OPTIONS: Final = {
    # Nothing waits in `unacked`: what a killed worker held comes back by its deadline or is rung
    # for again, and users of the broker need fewer rights.
    "ack_emulation": False,
    # One list per queue, so that a right to a queue is a right to one key.
    "priority_steps": [0],
    # Without time-outs a half-open connection blocks for ever.
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 10,
}
"""Celery's `broker_transport_options` of every program."""

NODE_SETTINGS: Final[Mapping[str, Any]] = {
    # What is no call of ours is dropped, not fatal.
    "broker_transport": "inference.transport:Transport",
    "broker_transport_options": TRANSPORT_OPTIONS,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "task_serializer": "json",
    "accept_content": ["json"],
    "task_ignore_result": True,
    "worker_prefetch_multiplier": 1,
    # Flower needs events only; nobody may command a node through the broker.
    "worker_enable_remote_control": False,
    "worker_hijack_root_logger": False,
}
"""Celery's settings of the programs of nodes: of players, gpu workers and trainers."""


class InProcessBindings:
    """Mixed into kombu's Redis channel, before it; calls no command of the broker."""

    typeof: Any
    state: Any
    _fanout_queues: dict[str, tuple[str, str]]
    auto_delete_queues: set[str]

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        del pattern
        # Events of workers and Flower's inspection go by publish, which needs the routing key here.
        if self.typeof(exchange).type == "fanout":
            self._fanout_queues[queue] = (exchange, routing_key.replace("#", "*"))

    def get_table(self, exchange: str) -> list[tuple[str, str, str]]:
        """Return (routing key, pattern, queue) of each binding that this process has made."""
        table: list[tuple[str, str, str]] = self.state.exchanges[exchange]["table"]
        return table

    def maybe_refresh_binding_expiry(self) -> None:
        """Do nothing: what is kept here ends with the process."""

    # Kombu would remove the binding from the broker's set, which we do not have.
    def _delete(self, queue: str, *_args: Any, **_options: Any) -> None:
        self.auto_delete_queues.discard(queue)


class CheckedPops:
    """Mixed into a Redis client, before it: an item that its consumer cannot read is dropped.

    Checked here, before kombu's own JSON reader, which some items end.
    """

    # kombu keeps other priorities of a queue in lists with this and a number behind its name.
    priority_separator: str

    def refuse_item(self, item: bytes, queue: str) -> str | None:
        """Return why an item of a queue cannot be taken, or None."""
        raise NotImplementedError

    def parse_response(self, connection: Any, command_name: str, **options: Any) -> Any:
        """Return the reply; the reply to a pop is None when the item is dropped."""
        # The client that this is mixed into has it.
        reply = super().parse_response(connection, command_name, **options)  # type: ignore[misc]
        if command_name != "BRPOP" or reply is None:
            return reply
        key, item = reply
        queue = key.decode().partition(self.priority_separator)[0]
        refusal = self.refuse_item(item, queue)
        if refusal is None:
            return reply
        log.warning("an item of queue %s was dropped: %s", queue, refusal)
        return None
