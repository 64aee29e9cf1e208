"""Celery tasks: thin, named, safe to run twice."""

from typing import Any

from celery import shared_task

from arena.queues import EXPERIENCE_ALIVE_TASK, EXPERIENCE_RECORD_TASK
from experience import duties
from experience.runs.recording import extend_lease, record_report
from matches import dispatch
from matches.store.clock import db_now


@shared_task(name=EXPERIENCE_RECORD_TASK)
def record(report: dict[str, Any]) -> bool:
    """Take a report of a trainer; a slice that is over is followed by the next one at once."""
    now = db_now()
    is_taken = record_report(report, now=now)
    if is_taken and report["is_last"]:
        duties.do_duties(now=now)
    return is_taken


@shared_task(name=EXPERIENCE_ALIVE_TASK)
def note_alive(sign: dict[str, Any]) -> bool:
    """Leave a slice to a trainer that is still at work on it."""
    return extend_lease(sign, now=db_now())


@shared_task(name=dispatch.EXPERIENCE_TICK)
def tick() -> None:
    """Do all that control does for training, once a second."""
    duties.do_duties(now=db_now())
