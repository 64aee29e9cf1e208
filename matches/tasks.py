"""Celery tasks: thin, named, safe to run twice."""

from dataclasses import asdict
from typing import Any

from celery import shared_task

from arena.queues import RECORD_TASK
from matches import control, dispatch
from matches.campaigns import scheduling
from matches.errors import ConflictError
from matches.ledger import report_queue
from matches.store.clock import db_now


@shared_task(name=RECORD_TASK)
def record(report: dict[str, Any]) -> dict[str, int]:
    """Store a report and those behind it; safe to deliver twice. Returns what changed."""
    recorded = report_queue.receive_reports(
        report, queue=dispatch.own_reports_queue(), clock=db_now
    )
    return {counter: n for counter, n in asdict(recorded).items() if n}


@shared_task(name=dispatch.TICK)
def tick() -> None:
    """Do all that control does, once a second: what a lost wake-up left undone is done here."""
    control.do_duties_if_due()


@shared_task(name=dispatch.PLAN)
def plan() -> None:
    """Plan the tournaments that wait for it."""
    control.plan_tournaments(now=db_now())


@shared_task(name=dispatch.RELAY)
def relay() -> None:
    """Send pending matches to the play nodes."""
    control.send_matches(now=db_now())


@shared_task(name=dispatch.RATE)
def rate() -> None:
    """Count new outcomes and write ratings."""
    control.rate_results(now=db_now())


@shared_task(name=dispatch.RERATE)
def rerate() -> None:
    """Compute ratings again from all outcomes that count, where that was asked."""
    control.rerate_boards(now=db_now())


@shared_task(
    name=dispatch.SCHEDULE_TOURNAMENT,
    autoretry_for=(ConflictError,),
    retry_backoff=True,
    retry_backoff_max=10,
    max_retries=60,
)
def schedule_tournament(schedule_id: int) -> int | None:
    """Start what is due, a tournament or a season; safe to run twice. Returns its id.

    A season ends when its ratings show all that counts: on a busy board that may take some tries.
    """
    started = scheduling.start_due(schedule_id, now=db_now())
    return started.pk if started else None
