"""Publish doorbells and reports as Celery messages."""

from typing import Any

import redis
from celery import Celery
from kombu.exceptions import KombuError

from arena.message_texts import describe_message
from arena.messages import Report, to_wire
from arena.queues import DRAIN_TASK, RECORD_TASK, REPORTS_QUEUE, gpu_queue
from inference.errors import InferenceError

# One more try: a connection that has waited in the pool may have been closed by the broker.
RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


class PublishError(InferenceError):
    """The broker did not take a message."""


class Publisher:
    """Sends over the connections of a Celery app; may be used by several threads."""

    def __init__(self, app: Celery) -> None:
        """app: whose broker is meant."""
        self._app = app

    def publish_doorbell(self, shard: int, lease: str) -> None:
        """Have some worker drain a shard with this lease. Raises PublishError."""
        arguments_text = f"({shard}, {lease!r})"
        self._send_task(DRAIN_TASK, [shard, lease], queue=gpu_queue(shard), shown=arguments_text)

    def publish_report(self, report: Report) -> None:
        """Send a report to the recorder. Raises PublishError."""
        self._send_task(
            RECORD_TASK, [to_wire(report)], queue=REPORTS_QUEUE, shown=describe_message(report)
        )

    def _send_task(self, task: str, arguments: list[Any], *, queue: str, shown: str) -> None:
        try:
            # By name: the code of the tasks is where they are consumed.
            self._app.send_task(
                task,
                arguments,
                queue=queue,
                retry_policy=RETRY_POLICY,
                ignore_result=True,
                argsrepr=shown,  # else Celery shows monitors the token of a verdict
                kwargsrepr="{}",
            )
        except (KombuError, redis.RedisError, OSError) as error:
            raise PublishError(f"{type(error).__name__}: {error}") from error
