"""Crontabs as beat reads them: minute hour day-of-month month day-of-week, in a time zone."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from celery.schedules import ParseException, crontab

from matches.errors import BadInputError

PARTS = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
EXAMPLE = "'30 4 * * 1' is every Monday at 4:30"
# Between two 29ths of February may lie eight years.
MAX_DAYS = 9 * 366


@dataclass(frozen=True)
class Crontab:
    """The minutes at which something is due."""

    # Hour and minute, in order.
    times: tuple[tuple[int, int], ...]
    days: frozenset[int]
    months: frozenset[int]
    # 0 is Sunday.
    weekdays: frozenset[int]
    zone: ZoneInfo

    def next(self, *, now: datetime) -> datetime | None:
        """Return the first minute after now; None when there is none."""
        days = self._list_days(now, step=1)
        return next((at for day in days for at in self._list_moments(day) if at > now), None)

    def last(self, *, now: datetime) -> datetime | None:
        """Return the last minute up to now; None when there was none."""
        days = self._list_days(now, step=-1)
        return next(
            (at for day in days for at in reversed(self._list_moments(day)) if at <= now), None
        )

    def _list_days(self, now: datetime, *, step: int) -> Iterator[date]:
        today = now.astimezone(self.zone).date()
        for n in range(MAX_DAYS):
            day = today + timedelta(days=step * n)
            # As beat has it, and unlike cron: both the day of the month and that of the week.
            if (
                day.month in self.months
                and day.day in self.days
                and day.isoweekday() % 7 in self.weekdays
            ):
                yield day

    def _list_moments(self, day: date) -> list[datetime]:
        """Return the minutes of a day; those that its clocks pass over are none."""
        moments = []
        for hour, minute in self.times:
            local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
            at = local.astimezone(UTC)
            # There and back again: a time that clocks skip comes back as another one. croniter
            # moves it to the end of the gap instead, and starts twice where an hour comes twice.
            if at.astimezone(self.zone).replace(tzinfo=None) == local.replace(tzinfo=None):
                moments.append(at)
        return moments


def parse_crontab(text: str, timezone: str, *, now: datetime) -> Crontab:
    """Return what a crontab means. Raises BadInputError also for one that never is due."""
    parts = dict(zip(PARTS, split_crontab(text), strict=True))
    try:
        parsed: Any = crontab(**parts)  # its sets have no types
    except (ParseException, ValueError) as error:
        raise BadInputError("crontab", f"{text!r} is none ({error}): {EXAMPLE}") from error
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        hint = "give one such as UTC or Europe/Berlin"
        raise BadInputError("timezone", f"{timezone!r} is not known: {hint}") from error
    times = Crontab(
        times=tuple(
            (hour, minute) for hour in sorted(parsed.hour) for minute in sorted(parsed.minute)
        ),
        days=frozenset(parsed.day_of_month),
        months=frozenset(parsed.month_of_year),
        weekdays=frozenset(parsed.day_of_week),
        zone=zone,
    )
    if times.next(now=now) is None:
        raise BadInputError("crontab", f"{text!r} is never due: no such day comes")
    return times


def split_crontab(text: str) -> list[str]:
    """Return the five parts. Raises BadInputError."""
    parts = text.split()
    if len(parts) != len(PARTS):
        names = ", ".join(PARTS).replace("_", " ")
        raise BadInputError("crontab", f"{text!r} must have five parts ({names}): {EXAMPLE}")
    return parts
