"""The one task of a play node."""

import logging
from typing import Any

from celery import shared_task

from arena.errors import MessageError
from arena.messages import PLAY_TASK, read_order
from workers import node

log = logging.getLogger(__name__)


@shared_task(name=PLAY_TASK)
def play(order: dict[str, Any]) -> None:
    """Play one match order and report its results; safe to deliver twice."""
    try:
        read = read_order(order)
    except MessageError as error:
        # Nobody can be told: its matches come back by their deadline.
        log.error("order refused: %s", error)
        return
    node.here().play(read)
