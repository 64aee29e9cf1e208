"""Why a run stands where it stands: who trains it now, what it waits for, how it ended."""

from datetime import datetime
from typing import Final

from experience.models import TrainingRun
from experience.runs.ordering import LEASE, MOST_LOST, find_next_order
from matches.store.explanation import Explanation, Finding
from matches.store.formats import age_s, format_ago, format_count, format_span

QUIET_S: Final = 5.0
"""Trainers give a sign of life every two seconds: longer is worth a word."""
_STATES = TrainingRun.State


def explain_run(run: TrainingRun, *, now: datetime) -> Explanation:
    """Return where a run stands; no query."""
    standing = _explain_running(run, now=now) if run.state == _STATES.RUNNING else _explain_end(run)
    return Explanation(
        subject="run",
        id=run.pk,
        name=run.name,
        state=_find_tone(run),
        since=standing.since,
        age_s=age_s(standing.since, now=now),
        summary=standing.summary,
        waits_for=tuple(standing.waits_for),
        next=standing.next,
        next_at=standing.next_at,
        notes=tuple(_list_notes(run)),
    )


def _find_tone(run: TrainingRun) -> str:
    return "lost" if run.state == _STATES.FAILED or run.n_lost else str(run.state)


def _explain_running(run: TrainingRun, *, now: datetime) -> Finding:
    if run.order is None:
        return Finding(
            "no trainer has it: its next slice is ordered within seconds",
            since=run.reported_at or run.created_at,
            waits_for=["control, which orders slices once a second"],
        )
    if run.reported_slice < run.slice:
        return Finding(
            f"slice {run.slice} is ordered, and no trainer has reported on it yet",
            since=run.reported_at or run.created_at,
            waits_for=["a trainer on the queue `train` (`./run up --trainers 1`)"],
            next="without a report it is ordered anew, to any trainer",
            next_at=find_next_order(run) if run.leased_until else None,
        )
    silent_s = age_s(run.reported_at, now=now) or 0.0
    last = f"reported{format_ago(run.reported_at, now=now)}"
    summary = f"it is trained by {run.trainer}, which {last}, in slice {run.slice}"
    waits_for = [f"a report of {run.trainer}"] if silent_s > QUIET_S else []
    return Finding(
        summary,
        since=run.reported_at,
        waits_for=waits_for,
        next=f"after {format_span(LEASE.total_seconds())} without a report any trainer takes it",
        next_at=run.leased_until,
    )


def _explain_end(run: TrainingRun) -> Finding:
    steps = format_count(run.n_steps, "step")
    if run.state == _STATES.DONE:
        return Finding(f"it has learned from all its {steps}", since=run.ended_at)
    resumed = (
        f"once resumed, by `evalsite runs resume {run.name}` or in the admin, it goes on from there"
    )
    if run.state == _STATES.STOPPED:
        return Finding(f"somebody stopped it after {steps}", since=run.ended_at, next=resumed)
    resumed += "; other parameters take a run of another name"
    return Finding(f"it failed after {steps}: {run.problem}", since=run.ended_at, next=resumed)


def _list_notes(run: TrainingRun) -> list[str]:
    if not run.n_lost:
        is_waiting = run.state == _STATES.RUNNING and run.problem
        return [f"its last slice came to nothing: {run.problem}"] if is_waiting else []
    lost = format_count(run.n_lost, "slice")
    # Not always by the last of them: a trainer that is killed says nothing.
    reason = f" (last told: {run.problem})" if run.problem else ""
    return [f"{lost} in a row came to nothing{reason}; after {MOST_LOST} it is given up"]
