"""Entries become an indexed segment: file, then row, in this order; each chunk once.

Whatever is killed between the steps, its entries are read again: a file without a row is nobody's,
and a row refuses its chunks to every other one. Only who has made the row acknowledges.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from io import BytesIO
from uuid import UUID

from django.core.files.storage import storages
from django.db import IntegrityError, transaction

from arena.errors import ChunkError
from arena.experience.segments import SentChunk, write_segment
from arena.experience.wire import read_chunk
from arena.games import registry
from arena.trajectories import TrajectorySpec
from experience import segment_files
from experience.models import ChunkIndex, Segment
from experience.segment_files import STORAGE
from experience.sink.gathering import Entry, sort_entries

log = logging.getLogger(__name__)

Read = tuple[Entry, SentChunk]


def write_entries(game: str, entries: Sequence[Entry], *, now: datetime) -> Segment | None:
    """Return the new segment that holds those chunks which no segment holds; None without any.

    Afterwards all entries are in indexed segments, or are no chunks. Raises OSError.
    """
    fresh = drop_indexed(game, read_entries(game, sort_entries(entries)))
    while fresh:
        segment, content = make_segment(game, [*fresh.values()], now=now)
        segment.path = segment_files.store_file(segment.path, content)
        try:
            index_segment(segment, [*fresh.values()])
        except IntegrityError:
            left = drop_indexed(game, fresh)
            if len(left) == len(fresh):
                raise
            # Another sink had some of these entries and was first: what is left is written anew.
            fresh = left
            if not Segment.objects.filter(path=segment.path).exists():
                storages[STORAGE].delete(segment.path)
        else:
            return segment
    return None


def read_entries(game: str, entries: Sequence[Entry]) -> dict[str, Read]:
    """Return the chunks by their ids, the first of each."""
    spec = registry.get(game).spec
    chunks: dict[str, Read] = {}
    for entry in entries:
        try:
            chunk = read_chunk(entry.content, spec=spec)
        except ChunkError as error:
            # The web server puts none there: kept, it would hold up all others for ever.
            log.error("entry %s of %s is no chunk and is dropped: %s", entry.entry_id, game, error)
            continue
        chunks.setdefault(chunk.chunk_id, (entry, SentChunk(entry.user, chunk)))
    return chunks


def drop_indexed(game: str, chunks: dict[str, Read]) -> dict[str, Read]:
    """Return the chunks that are in no segment yet."""
    rows = ChunkIndex.objects.filter(game=game, chunk_id__in=[UUID(key) for key in chunks])
    indexed = {chunk_id.hex for chunk_id in rows.values_list("chunk_id", flat=True)}
    return {chunk_id: chunk for chunk_id, chunk in chunks.items() if chunk_id not in indexed}


def make_segment(game: str, chunks: Sequence[Read], *, now: datetime) -> tuple[Segment, bytes]:
    """Return the row of a file and the file, which is named by what is in it."""
    file = BytesIO()
    form = TrajectorySpec.of_game(registry.get(game).spec)
    n_rows = write_segment(file, [sent_chunk for _, sent_chunk in chunks], form)
    content = file.getvalue()
    first, last = chunks[0][0].entry_id, chunks[-1][0].entry_id
    digest = sha256(content).hexdigest()
    versions = [sent_chunk.chunk.policy_version for _, sent_chunk in chunks]
    segment = Segment(
        game=game,
        first_id=first,
        last_id=last,
        path=f"{game}/{now:%Y-%m-%d}/{first}-{last}-{digest[:12]}.parquet",
        sha256=digest,
        n_rows=n_rows,
        n_bytes=len(content),
        min_policy_version=min(versions),
        max_policy_version=max(versions),
        created_at=now,
    )
    return segment, content


def index_segment(segment: Segment, chunks: Sequence[Read]) -> None:
    """Make a file one that is read. Raises IntegrityError where another has one of its chunks.

    Raises OSError where the file is not there any more.
    """
    with transaction.atomic():
        segment_files.claim_file(segment.path)
        segment.save(force_insert=True)
        ChunkIndex.objects.bulk_create(
            ChunkIndex(segment=segment, game=segment.game, chunk_id=UUID(sent_chunk.chunk.chunk_id))
            for _, sent_chunk in chunks
        )
