"""Runs that cannot go on."""

import logging
from datetime import datetime

from experience.models import TrainingRun

log = logging.getLogger(__name__)


def fail_run(run: TrainingRun, problem: str, *, now: datetime) -> bool:
    """End a run whose slice is still the one that was read, with the reason; say whether it was."""
    log.error("training run %s has failed: %s", run, problem)
    unchanged = TrainingRun.objects.filter(
        pk=run.pk,
        state=TrainingRun.State.RUNNING,
        slice=run.slice,
        order=run.order,
        token=run.token,
    )
    changes = {"order": None, "leased_until": None, "ended_at": now}
    failed = TrainingRun.State.FAILED
    return bool(unchanged.update(state=failed, problem=problem[:500], **changes))
