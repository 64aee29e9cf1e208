"""The clock of control: beat with a tick that no setting of the clock can stop."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

from matches import dispatch
from matches.errors import BrokerError

log = logging.getLogger(__name__)

TICK_EVERY_S = 1.0


class TickingScheduler(DatabaseScheduler):  # type: ignore[misc]  # it has no types
    """Ticks once a second by a clock that nobody sets; schedules have to go by the wall clock.

    With the tick among the schedules, a clock that was set back by an hour stopped control for an
    hour: its last run lay in the future.
    """

    clock_s: Callable[[], float] = staticmethod(monotonic)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._tick_at_s = 0.0
        super().__init__(*args, **kwargs)

    def setup_schedule(self) -> None:
        """Set up the schedules of the database, without the tick that was one of them once."""
        PeriodicTask.objects.filter(task=dispatch.TICK).delete()
        super().setup_schedule()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Send what is due; return the seconds until the next look."""
        now_s = self.clock_s()
        if now_s >= self._tick_at_s:
            self._tick_at_s = now_s + TICK_EVERY_S
            try:
                dispatch.send_tick()
            except BrokerError as error:
                log.warning("no tick is sent: %s", error)
        self._forget_future_runs()
        next_s: float = super().tick(*args, **kwargs)
        return max(0.0, min(next_s, self._tick_at_s - self.clock_s()))

    def schedule_changed(self) -> bool:
        """Say whether the schedules must be read again, also after a change at an earlier time."""
        before = self._last_timestamp
        is_newer: bool = super().schedule_changed()
        is_other = before is not None and self._last_timestamp != before
        return is_newer or is_other or self._last_full_sync > datetime.now()  # noqa: DTZ005

    def _forget_future_runs(self) -> None:
        """Let schedules run again that ran last at a time that has not come: the clock was set."""
        now = datetime.now(UTC)
        late = [e for e in self.schedule.values() if e.last_run_at - now > timedelta(seconds=2)]
        for entry in late:
            log.warning("schedule %s ran at %s, in the future", entry.name, entry.last_run_at)
            entry.last_run_at = entry.model.last_run_at = now
        if late:
            self._heap = None  # made anew from the times of all
