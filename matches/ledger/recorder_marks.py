"""Marks: control sends the time through each queue of reports to learn what is recorded."""

import logging
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

from arena.message_tokens import mark_token
from arena.messages import Mark
from arena.queues import recorder_name
from matches import dispatch
from matches.errors import BrokerError
from matches.models import RecorderMark
from matches.store.clock import MARK_MAX_AGE
from matches.store.signing import derive_key, is_same_token

log = logging.getLogger(__name__)

MOST_LAG_S = 10.0
"""A recorder that is further behind does not keep up."""


class LatestMark(NamedTuple):
    """The newest mark that came through the queue of a shard; None: none has come yet."""

    shard: int
    at: datetime | None

    @property
    def recorder(self) -> str:
        """Return the name of the program that records this shard."""
        return recorder_name(self.shard)

    def lag_s(self, *, now: datetime) -> float | None:
        """Return how old the mark is."""
        return None if self.at is None else max(0.0, (now - self.at).total_seconds())


def send_marks(*, now: datetime) -> None:
    """Send a mark of this moment to every recorder."""
    n_recorders = settings.EVALSITE_RECORDERS
    try:
        # What lies in queues that are no recorder's goes first where a mark comes after it: else
        # the marks would say that it is recorded.
        if not dispatch.collect_reports(n_recorders):
            log.warning("no mark sent: reports of earlier recorders are being moved")
            return
        for shard in range(n_recorders):
            dispatch.publish_mark(now.isoformat(), shard)
    except BrokerError as error:
        log.warning("no mark sent, so nothing will expire: %s", error)


def note_mark(mark: Mark) -> None:
    """Note a mark that has come through; refuse one that control did not make."""
    if not is_same_token(mark_token(derive_key(), mark.at, mark.shard), mark.token):
        log.warning("a mark that control did not make was refused")
        return
    RecorderMark.objects.update_or_create(
        shard=mark.shard, defaults={"marked_at": datetime.fromisoformat(mark.at)}
    )


def read_marks() -> list[LatestMark]:
    """Return the newest mark of each shard that a recorder runs for now."""
    n_recorders = settings.EVALSITE_RECORDERS
    rows = RecorderMark.objects.filter(shard__lt=n_recorders).values_list("shard", "marked_at")
    times = dict(rows)
    return [LatestMark(shard, times.get(shard)) for shard in range(n_recorders)]


def find_slowest_mark(marks: list[LatestMark]) -> LatestMark:
    """Return the oldest mark; a shard without one comes first."""
    return min(marks, key=lambda mark: (mark.at is not None, mark.at))


def find_recorded_until(*, now: datetime) -> datetime | None:
    """Return a time before which every report is recorded, or None while a recorder lags."""
    times = [mark.at for mark in read_marks()]
    # One in the future was made before the clock was set back; it says nothing of the reports now.
    fresh = [at for at in times if at is not None and now - MARK_MAX_AGE <= at <= now]
    return min(fresh) if len(fresh) == len(times) else None
