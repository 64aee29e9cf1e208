"""Which queue a message goes to, kept in each process instead of in the broker.

Kombu's Redis channel keeps that in sets, `_kombu.binding.<exchange>`: whoever may write them sends
other programs' messages elsewhere, too, and every consumer and publisher has to write them. All our
queues are named by their publisher, so nobody needs to read them.
"""

from typing import Any


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
