"""Publish reports and doorbells as Celery messages over a connection of its own."""

from typing import Any

from celery import Celery
from kombu import Connection, Producer
from kombu.exceptions import KombuError

from arena.messages import (
    DRAIN_TASK,
    RECORD_TASK,
    Report,
    describe_message,
    gpu_queue,
    to_wire,
)
from workers.errors import PublishError


class Publisher:
    """Sends reports to the recorders and rings for gpu workers; used by one thread."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection: Connection | None = None
        self._producer: Producer | None = None

    def publish(self, report: Report, queue: str) -> None:
        """Send one report to a queue. Raises PublishError when the broker did not take it."""
        # Celery would print the whole report, tokens and all, and cut it.
        wire, shown = to_wire(report), describe_message(report)
        self._publish(RECORD_TASK, [wire], queue=queue, argsrepr=shown)

    def ring(self, shard: int, lease: str) -> None:
        """Have a gpu worker drain a shard. Raises PublishError when the broker did not take it."""
        shown = f"({shard}, {lease!r})"
        self._publish(DRAIN_TASK, [shard, lease], queue=gpu_queue(shard), argsrepr=shown)

    def _publish(self, task: str, arguments: list[Any], *, queue: str, argsrepr: str) -> None:
        connection = self._connection = self._connection or self._app.connection_for_write()
        try:
            self._send(connection, task, arguments, queue, argsrepr)
        except self._errors(connection) as error:
            self._disconnect()
            raise PublishError(f"{type(error).__name__}: {error}") from error

    def _send(
        self, connection: Connection, task: str, arguments: list[Any], queue: str, argsrepr: str
    ) -> None:
        self._producer = self._producer or self._app.amqp.Producer(connection, auto_declare=False)
        self._app.send_task(
            task,
            arguments,
            producer=self._producer,
            queue=queue,
            retry=False,
            # Pushing to the queue is all that a play node may do: it declares nothing.
            declare=[],
            argsrepr=argsrepr,
            kwargsrepr="{}",
        )

    def _errors(self, connection: Connection) -> tuple[type[BaseException], ...]:
        return (KombuError, *connection.connection_errors, *connection.channel_errors)

    def _disconnect(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            connection.release()
