"""The small segments of a game's day become one, when the day is over.

File, then rows, then the old files: killed in between, each step is in exactly one indexed file.
What a killed control has left has the bytes and the name of what the next one writes.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from functools import partial
from hashlib import sha256
from io import BytesIO
from typing import Final

import numpy as np
import pyarrow as pa
from django.core.files.storage import storages
from django.db import transaction

from arena.errors import ArenaError
from arena.experience.segments import join_segments
from arena.games import registry as games
from arena.trajectories import TrajectorySpec
from experience import segment_files
from experience.datasets.uploads import read_rows
from experience.models import ChunkIndex, DatasetSource, Segment
from matches.errors import GoneError

MOST_BYTES: Final = 2**28
"""Of observations in memory; in files they may be packed to a small part of that."""
LATE: Final = timedelta(hours=1)
"""After midnight a sink may still write the row of a segment of the day before."""
log = logging.getLogger(__name__)


def compact_next(*, most_rows: int, now: datetime) -> Segment | None:
    """Join segments of the oldest day that has some; return the joined one, None without any.

    most_rows: of a joined segment; 0: none are joined.
    """
    group = find_group(most_rows=most_rows, now=now)
    if len(group) < 2:  # noqa: PLR2004 - one alone is joined with nothing
        Segment.objects.filter(pk__in=[segment.pk for segment in group]).update(is_compacted=True)
        return None
    try:
        form = TrajectorySpec.of_game(games.get(group[0].game).spec)
        content = join_files(group, form)
    except (ArenaError, GoneError) as error:
        # Left as they are: whoever reads them is told the same.
        log.error("segments of %s are not joined: %s", group[0].game, error)
        Segment.objects.filter(pk__in=[segment.pk for segment in group]).update(is_compacted=True)
        return None
    name = segment_files.store_file(_name_joined(group, content), content)
    return replace_rows(group, name, content)


def find_group(*, most_rows: int, now: datetime) -> list[Segment]:
    """Return segments of one game and day which have not been joined, as many as make one file."""
    today = (now - LATE).date()
    midnight = datetime.combine(today, time.min, now.tzinfo)
    free = Segment.objects.filter(is_compacted=False, created_at__lt=midnight, held_by=None)
    first = free.order_by("pk").first()
    if first is None or most_rows == 0:
        return []
    day = datetime.combine(first.created_at.date(), time.min, now.tzinfo)
    of_day = free.filter(
        game=first.game, created_at__gte=day, created_at__lt=day + timedelta(days=1)
    )
    most_rows = min(most_rows, MOST_BYTES // _measure_step(first.game))
    group: list[Segment] = []
    n_rows = 0
    for segment in of_day.order_by("pk").iterator():
        n_rows += segment.n_rows
        if group and n_rows > most_rows:
            break
        group.append(segment)
    return group


def _measure_step(game: str) -> int:
    """Return the bytes of the two observations of a step in memory."""
    try:
        form = TrajectorySpec.of_game(games.get(game).spec)
    except ArenaError:
        return 1  # nothing is read of a game that is not here
    return 2 * form.n_features * np.dtype(np.float32).itemsize


def join_files(group: Sequence[Segment], form: TrajectorySpec) -> bytes:
    """Return the rows of all segments, in their order, as one file. Raises GoneError, OSError."""
    target = BytesIO()
    tables: list[pa.Table] = [read_rows(segment.path, form) for segment in group]
    join_segments(target, tables, form)
    return target.getvalue()


def _name_joined(group: Sequence[Segment], content: bytes) -> str:
    first, last = group[0], group[-1]
    digest = sha256(content).hexdigest()
    day = f"{first.created_at:%Y-%m-%d}"
    return f"{first.game}/{day}/{first.first_id}-{last.last_id}-{digest[:12]}.parquet"


def replace_rows(group: Sequence[Segment], name: str, content: bytes) -> Segment | None:
    """Let the first row name the joined file; the others go, and then their files.

    None where one of them is gone, or held by a dataset that has begun meanwhile.
    """
    joined, *others = group
    pks = [segment.pk for segment in others]
    with transaction.atomic():
        segment_files.claim_file(name)
        every = Segment.objects.filter(pk__in=[joined.pk, *pks]).order_by("pk")
        paths = {row.path for row in every.select_for_update()}
        is_held = DatasetSource.objects.filter(segment__in=[joined.pk, *pks]).exists()
        if is_held or paths != {segment.path for segment in group}:
            return None
        ChunkIndex.objects.filter(segment__in=pks).update(segment=joined)
        Segment.objects.filter(pk__in=pks).delete()
        Segment.objects.filter(pk=joined.pk).update(
            last_id=group[-1].last_id,
            path=name,
            sha256=sha256(content).hexdigest(),
            n_rows=sum(segment.n_rows for segment in group),
            n_bytes=len(content),
            min_policy_version=min(segment.min_policy_version for segment in group),
            max_policy_version=max(segment.max_policy_version for segment in group),
            created_at=group[-1].created_at,
            is_compacted=True,
            has_index=any(segment.has_index for segment in group),
        )
        for segment in group:
            transaction.on_commit(partial(delete_file, segment.path))
    joined.refresh_from_db()
    return joined


def delete_file(name: str) -> None:
    """Delete a file that no row names any more."""
    storages[segment_files.STORAGE].delete(name)
