"""Marks: control sends the time through the reports queue to learn what is recorded."""

import logging
from datetime import datetime

from arena.messages import Mark, mark_token
from matches import dispatch
from matches.errors import BrokerError
from matches.leases import MARK_MAX_AGE
from matches.models import RecorderMark
from matches.tokens import is_same, secret

log = logging.getLogger(__name__)
_ROW = 1


def send(*, now: datetime) -> None:
    """Send a mark of this moment."""
    try:
        dispatch.publish_mark(now.isoformat())
    except BrokerError as error:
        log.warning("no mark sent, so nothing will expire: %s", error)


def note(mark: Mark) -> None:
    """Note a mark that has come through; refuse one that control did not make."""
    if not is_same(mark_token(secret(), mark.at), mark.token):
        log.warning("a mark that control did not make was refused")
        return
    RecorderMark.objects.update_or_create(
        pk=_ROW, defaults={"marked_at": datetime.fromisoformat(mark.at)}
    )


def recorded_until(*, now: datetime) -> datetime | None:
    """Return a time before which every report is recorded, or None while the recorder lags."""
    newest = RecorderMark.objects.filter(pk=_ROW, marked_at__gte=now - MARK_MAX_AGE).first()
    # One in the future was made before the clock was set back; it says nothing of the reports now.
    return newest.marked_at if newest and newest.marked_at <= now else None
