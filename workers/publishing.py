"""Publish reports as Celery messages over a connection of its own."""

from celery import Celery
from kombu import Connection, Producer
from kombu.exceptions import KombuError

from arena.messages import RECORD_TASK, REPORTS_QUEUE, Report, to_wire
from workers.errors import PublishError


class Publisher:
    """Sends reports to the recorder; used by one thread."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._connection: Connection | None = None
        self._producer: Producer | None = None

    def publish(self, report: Report) -> None:
        """Send one report. Raises PublishError when the broker did not take it."""
        connection = self._connection = self._connection or self._app.connection_for_write()
        try:
            self._send(report, connection)
        except self._errors(connection) as error:
            self._disconnect()
            raise PublishError(f"{type(error).__name__}: {error}") from error

    def _send(self, report: Report, connection: Connection) -> None:
        self._producer = self._producer or self._app.amqp.Producer(connection, auto_declare=False)
        kind = type(report).__name__
        self._app.send_task(
            RECORD_TASK,
            [to_wire(report)],
            producer=self._producer,
            queue=REPORTS_QUEUE,
            retry=False,
            # Pushing to the queue is all that a play node may do: it declares nothing.
            declare=[],
            # Celery would print the whole report to cut it to this length.
            argsrepr=f"({kind})",
            kwargsrepr="{}",
        )

    def _errors(self, connection: Connection) -> tuple[type[BaseException], ...]:
        return (KombuError, *connection.connection_errors, *connection.channel_errors)

    def _disconnect(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            connection.release()
