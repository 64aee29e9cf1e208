"""Send reports to control as Celery messages."""

import redis
from celery import Celery
from kombu.exceptions import KombuError

from arena.queues import EXPERIENCE_ALIVE_TASK, EXPERIENCE_RECORD_TASK, TRAINED_QUEUE
from arena.train_messages import Alive, Trained, describe, to_wire
from training.errors import UnavailableError

# One more try: a connection that has waited in the pool may have been closed by the broker.
RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


def publish_report(app: Celery, report: Trained | Alive) -> None:
    """Send a report. Raises UnavailableError where the broker does not take it."""
    # By name: the code of the task is where it is consumed.
    task = EXPERIENCE_ALIVE_TASK if isinstance(report, Alive) else EXPERIENCE_RECORD_TASK
    try:
        app.send_task(
            task,
            [to_wire(report)],
            queue=TRAINED_QUEUE,
            retry_policy=RETRY_POLICY,
            ignore_result=True,
            argsrepr=describe(report),  # else Celery shows monitors the token
            kwargsrepr="{}",
        )
    except (KombuError, redis.RedisError, OSError) as error:
        raise UnavailableError(f"a report was not taken: {type(error).__name__}") from error
