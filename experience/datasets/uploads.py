"""Datasets of uploads: which whole episodes there are in the segments, and their rows."""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq
from django.core.files.storage import storages

from arena.errors import ChunkError
from arena.experience import datasets, segments
from arena.trajectories import TrajectorySpec
from experience.datasets.episodes import Piece, count_steps, cut_pieces, join_episodes
from experience.datasets.plans import Plan, ShardPlan, cut_shards, merge_ranges
from experience.datasets.queries import EpisodeFilter
from experience.models import Dataset, Segment
from experience.segment_files import STORAGE
from matches.errors import GoneError

MOST_OPEN = 8
"""Segments in memory while a shard is written: rows of one episode lie near each other."""


def find_segments(game: str, *, since: datetime | None, until: datetime | None) -> list[Segment]:
    """Return the segments of a game that were written in this time, in their order."""
    rows = Segment.objects.filter(game=game)
    if since is not None:
        rows = rows.filter(created_at__gte=since)
    if until is not None:
        rows = rows.filter(created_at__lt=until)
    return list(rows.order_by("pk"))


def plan_shards(dataset: Dataset, form: TrajectorySpec) -> tuple[list[ShardPlan], int]:
    """Return the plans of all shards, and how many steps are of no whole episode.

    Raises GoneError where a file is not there or is no segment.
    """
    pieces = list(_cut_all(dataset, form))
    episodes = list(join_episodes(pieces))
    n_whole = sum(map(count_steps, episodes))
    chosen = EpisodeFilter.read(dataset.query)
    parts = (
        ([[piece.segment, piece.start, piece.end] for piece in episode], count_steps(episode))
        for episode in episodes
        if chosen.takes(episode)
    )
    plans = list(
        cut_shards(parts, shard_steps=dataset.shard_steps, most_steps=dataset.query["most_steps"])
    )
    for shard in plans:
        shard.plan = merge_ranges(shard.plan)
    return plans, sum(piece.end - piece.start for piece in pieces) - n_whole


def read_tables(plan: Plan, form: TrajectorySpec, *, first_episode: int) -> list[pa.Table]:
    """Return the rows of a plan. Raises GoneError."""
    paths = dict(
        Segment.objects.filter(pk__in={part[0] for part in plan}).values_list("pk", "path")
    )
    read_segment = lru_cache(MOST_OPEN)(lambda pk: read_rows(paths[pk], form))
    try:
        parts = [read_segment(pk).slice(start, end - start) for pk, start, end in plan]
    except KeyError as error:
        raise GoneError(f"segment {error} is not there any more") from error
    rows = pa.concat_tables(parts)
    return [datasets.convert_uploads(rows, form, first_episode=first_episode)]


def read_rows(path: str, form: TrajectorySpec) -> pa.Table:
    """Return the rows of a segment of this form. Raises GoneError, OSError."""
    try:
        with storages[STORAGE].open(path) as opened, pq.ParquetFile(opened) as file:
            stored_form = segments.read_spec(file.schema_arrow)
            if stored_form != form:
                raise GoneError(f"segment {path} is of {stored_form}, the game is {form}")
            return file.read()
    except FileNotFoundError as error:
        raise GoneError(f"segment {path} is not in the storage") from error
    except (pa.ArrowException, ChunkError) as error:
        raise GoneError(f"segment {path} cannot be read: {error}") from error


def _cut_all(dataset: Dataset, form: TrajectorySpec) -> Iterator[Piece]:
    for segment in dataset.segments.order_by("pk"):
        yield from cut_pieces(segment.pk, read_rows(segment.path, form))
