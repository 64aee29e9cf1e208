"""Celery tasks: thin, named, safe to run twice."""

from typing import Any

from celery import shared_task
from django.db import OperationalError

from arena.messages import RECORD_TASK
from matches import dispatch
from matches.clock import db_now
from matches.services import control, recording


@shared_task(name=RECORD_TASK, autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def record(report: dict[str, Any]) -> None:
    """Store one report of a play node; safe to deliver twice."""
    recording.receive(report, now=db_now())


@shared_task(name=dispatch.TICK)
def tick() -> None:
    """Do all that control does, once a second: what a lost wake-up left undone is done here."""
    control.tick(now=db_now())


@shared_task(name=dispatch.PLAN)
def plan() -> None:
    """Plan the tournaments that wait for it."""
    control.plan(now=db_now())


@shared_task(name=dispatch.RELAY)
def relay() -> None:
    """Send pending matches to the play nodes."""
    control.relay(now=db_now())


@shared_task(name=dispatch.RATE)
def rate() -> None:
    """Count new outcomes and write ratings."""
    control.rate(now=db_now())
