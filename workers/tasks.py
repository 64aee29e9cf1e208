"""The one task of a play node."""

import logging
from typing import Any

from celery import shared_task

from arena.errors import MessageError
from arena.messages import read_order
from arena.queues import PLAY_TASK
from workers import node

log = logging.getLogger(__name__)


@shared_task(name=PLAY_TASK)
def play(order: dict[str, Any]) -> dict[str, int]:
    """Play one match order and report its results; safe to deliver twice.

    Returns how many attempts ended how, which Flower shows.
    """
    try:
        match_order = read_order(order)
    except MessageError as error:
        # Nobody can be told: its matches come back by their deadline.
        log.error("order refused: %s", error)
        return {"refused": 1}
    return node.this_node().play_order(match_order)
