"""What a crontab means, in words and as the next times at which it is due."""

from datetime import datetime
from typing import NamedTuple

from django_celery_beat.models import CrontabSchedule

from matches.campaigns import crontabs
from matches.errors import BadInputError

N_TIMES = 3


class Echo(NamedTuple):
    """The meaning, or why it has none."""

    says: str
    is_refused: bool = False
    field: str = ""


def echo(text: str, timezone: str, *, now: datetime) -> Echo:
    """Return what a crontab means in its time zone."""
    try:
        found = crontabs.parse(text, timezone, now=now)
    except BadInputError as error:
        return Echo(str(error), is_refused=True, field=error.field)
    times: list[datetime] = []
    while len(times) < N_TIMES:
        due = found.next(now=times[-1] if times else now)
        if due is None:
            break
        times.append(due)
    shown = ", ".join(f"{at:%a %Y-%m-%d %H:%M}" for at in times)
    return Echo(f"{_words(text, timezone)}; next, in UTC: {shown}")


def _words(text: str, timezone: str) -> str:
    parts = dict(zip(crontabs.PARTS, crontabs.split(text), strict=True))
    return str(CrontabSchedule(**parts, timezone=timezone).human_readable)
