"""The tasks of a gpu worker."""

import logging
from typing import Any

from celery import shared_task

from arena.errors import MessageError
from arena.messages import read_check
from arena.queues import CHECK_TASK, DRAIN_TASK
from inference import node
from inference.errors import UnavailableError
from inference.publisher import PublishError

log = logging.getLogger(__name__)


@shared_task(name=DRAIN_TASK)
def drain(shard: int, lease: str) -> dict[str, int]:
    """Be the micro-batcher of a shard for about a second; safe to deliver twice.

    Returns what was done, which Flower shows: forwards, rows, requests, models_loaded ...
    """
    return node.this_worker().drain_shard(int(shard), str(lease))


@shared_task(
    name=CHECK_TASK,
    autoretry_for=(UnavailableError, PublishError),
    retry_backoff=True,
    max_retries=5,
    # What is sent again would be shown to monitors as it is, token and signed link.
    retry_kwargs={"max_retries": 5, "argsrepr": "(a checkpoint, again)", "kwargsrepr": "{}"},
)
def check(order: dict[str, Any]) -> None:
    """Find out whether a checkpoint can play and report it; safe to deliver twice."""
    try:
        check_order = read_check(order)
    except MessageError as error:
        # Nobody can be told: control asks again.
        log.error("order of a check refused: %s", error)
        return
    node.this_worker().check_upload(check_order)
