"""Files without a row: what killed programs have left. They go when nobody can be writing them."""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from django.core.files.storage import storages
from django.db import transaction

from experience import segment_files
from experience.datasets.building import name_shard
from experience.models import DatasetShard, Segment
from experience.segment_files import DATASETS, STORAGE
from experience.upkeep.compaction import delete_file

ORPHANED_AFTER: Final = timedelta(hours=1)
log = logging.getLogger(__name__)


def sweep_files(*, now: datetime) -> int:
    """Delete the files that no row names and that are older than an hour; return how many."""
    n_swept = sum(_sweep_file(name, now=now) for name in find_orphans())
    if n_swept:
        log.warning("%d files without a row were deleted: of programs that were killed", n_swept)
    return n_swept


def find_orphans() -> Iterator[str]:
    """Yield the names of files of segments and shards that no row names."""
    # What lies deeper than folder/folder/file, or not so deep, is none of ours.
    for folder in _list_folders(""):
        for inner in _list_folders(folder):
            path = f"{folder}/{inner}"
            names = {f"{path}/{name}" for name in storages[STORAGE].listdir(path)[1]}
            yield from sorted(names - _list_named(folder, inner))


def _list_folders(folder: str) -> list[str]:
    try:
        return sorted(storages[STORAGE].listdir(folder)[0])
    except FileNotFoundError:  # before the first file
        return []


def _list_named(folder: str, inner: str) -> set[str]:
    if folder == DATASETS:
        shards = DatasetShard.objects.filter(dataset__name=inner).exclude(sha256="")
        return {name_shard(inner, sha256) for sha256 in shards.values_list("sha256", flat=True)}
    segments = Segment.objects.filter(path__startswith=f"{folder}/{inner}/")
    return set(segments.values_list("path", flat=True))


def _sweep_file(name: str, *, now: datetime) -> bool:
    if now - storages[STORAGE].get_modified_time(name) < ORPHANED_AFTER:
        return False
    folder, inner, _ = name.split("/")
    with transaction.atomic():
        # Whoever writes a row for it holds the names, too: here it is sure that there is none.
        segment_files.hold_names()
        if name in _list_named(folder, inner):
            return False
        delete_file(name)
    return True
