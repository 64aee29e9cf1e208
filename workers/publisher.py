"""Publish reports and doorbells as Celery messages over a connection of its own."""

from typing import Any

from celery import Celery
from kombu import Connection, Producer
from kombu.exceptions import KombuError

from arena.message_texts import describe_message
from arena.messages import Report, to_wire
from arena.queues import DRAIN_TASK, RECORD_TASK, gpu_queue
from workers.errors import PublishError


class Publisher:
    """Sends reports to the recorders and rings for gpu workers; used by one thread."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection: Connection | None = None
        self._producer: Producer | None = None

    def publish_report(self, report: Report, queue: str) -> None:
        """Send one report to a queue. Raises PublishError when the broker did not take it."""
        # Celery would print the whole report, tokens and all, and cut it.
        wire, description = to_wire(report), describe_message(report)
        self._send_task(RECORD_TASK, [wire], queue=queue, argsrepr=description)

    def publish_doorbell(self, shard: int, lease: str) -> None:
        """Have a gpu worker drain a shard. Raises PublishError when the broker did not take it."""
        arguments_text = f"({shard}, {lease!r})"
        self._send_task(DRAIN_TASK, [shard, lease], queue=gpu_queue(shard), argsrepr=arguments_text)

    def _send_task(self, task: str, arguments: list[Any], *, queue: str, argsrepr: str) -> None:
        connection = self._connection = self._connection or self._app.connection_for_write()
        broker_errors: tuple[type[BaseException], ...] = (
            KombuError,
            *connection.connection_errors,
            *connection.channel_errors,
        )
        try:
            # Kept between messages, as its channel is.
            self._producer = self._producer or self._app.amqp.Producer(
                connection, auto_declare=False
            )
            self._app.send_task(
                task,
                arguments,
                producer=self._producer,
                queue=queue,
                retry=False,  # the outbox tries again, and knows for how long
                # Pushing to the queue is all that a play node may do: it declares nothing.
                declare=[],
                argsrepr=argsrepr,
                kwargsrepr="{}",
            )
        except broker_errors as error:
            # A connection that failed once is not trusted: the next message opens another.
            self._connection = self._producer = None
            connection.release()
            raise PublishError(f"{type(error).__name__}: {error}") from error
