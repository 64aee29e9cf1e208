"""Segments that are too old go, with their files; those that a dataset is built from stay."""

import logging
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from django.db import IntegrityError, transaction

from experience.models import Segment
from experience.upkeep.compaction import delete_file

DELETED_AT_ONCE: Final = 100
log = logging.getLogger(__name__)


def delete_old_segments(*, days: int, now: datetime) -> int:
    """Delete segments older than so many days, 0: none; return how many."""
    if not days:
        return 0
    old = Segment.objects.filter(created_at__lt=now - timedelta(days=days), held_by=None)
    rows = list(old.order_by("created_at")[:DELETED_AT_ONCE])
    try:
        with transaction.atomic():
            Segment.objects.filter(pk__in=[segment.pk for segment in rows]).delete()
            # Behind the row, as what is left without one is swept: a row always has its file.
            for segment in rows:
                transaction.on_commit(partial(delete_file, segment.path))
    except IntegrityError as error:  # a dataset has begun meanwhile
        log.info("old segments stay for now: %s", error)
        return 0
    return len(rows)
