"""Files of a run, by their hash: states from which it goes on, weights of its versions."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path

from django.core.files.storage import storages

from arena.checkpoints import MAX_BYTES, inspect_file
from arena.errors import CheckpointFileError
from experience.models import Release, TrainingRun
from matches.store import blobs, signing
from matches.store.staging import Stream, UploadError, stage_content, staging_folder

log = logging.getLogger(__name__)

STORAGE = "training"


def uploads_path(run: str) -> str:
    """Return the address under which the trainer of a run puts files, each by its hash."""
    return f"/files/training/{run}"


def file_path(run: str, sha256: str) -> str:
    """Return the address of a file."""
    return f"{uploads_path(run)}/{sha256}"


def sign_source(run: str, sha256: str, *, now: datetime) -> str:
    """Return the address by which a file may be fetched without a login."""
    return signing.sign_link("GET", file_path(run, sha256), now=now)


def store_file(run: str, digest: str, content: Stream, *, n_bytes: int) -> bool:
    """Store a file of a run; say whether it was not there yet. Raises UploadError."""
    row = TrainingRun.objects.filter(name=run).first()
    if row is None:
        raise UploadError(HTTPStatus.NOT_FOUND, f"there is no training run {run!r}")
    if row.state != TrainingRun.State.RUNNING:
        raise UploadError(HTTPStatus.GONE, f"training run {run!r} is over: {row.state}")
    if n_bytes > MAX_BYTES:
        message = f"{n_bytes} bytes are too many: at most {MAX_BYTES} are taken"
        raise UploadError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
    name = name_file(run, digest)
    shelf = storages[STORAGE]
    if shelf.exists(name) and shelf.size(name) == n_bytes:
        return False
    with stage_content(content, digest, n_bytes) as staged:
        blobs.store_file(staged, name, storage=STORAGE)
    return True


def name_file(run: str, sha256: str) -> str:
    """Return the name of a file in the storage."""
    return f"{run}/{sha256}"


def has_file(run: str, sha256: str) -> bool:
    """Say whether a file of a run is stored."""
    return storages[STORAGE].exists(name_file(run, sha256))


@contextmanager
def copy_weights(run: TrainingRun, sha256: str) -> Iterator[Path]:
    """Yield a copy of a version's weights as a file, sealed for the game of the run.

    Raises CheckpointFileError where they are none.
    """
    file = blobs.open_file(name_file(run.name, sha256), storage=STORAGE)
    if file is None:
        raise CheckpointFileError(f"there is no file {sha256}")
    with file, staging_folder() as folder:
        path = folder / f"{sha256}.safetensors"
        path.write_bytes(file.read())
        seal = inspect_file(path).seal
        if seal is None or seal.game != run.game:
            sealed_for = "no game" if seal is None else seal.game
            raise CheckpointFileError(f"it is sealed for {sealed_for}, not for {run.game}")
        yield path


def delete_unnamed(run: TrainingRun) -> int:
    """Delete the files of a run that has ended which no row names; return how many."""
    used_names = set(
        Release.objects.filter(run=run)
        .exclude(state=Release.State.EXPIRED)
        .values_list("sha256", flat=True)
    ) | {run.state_sha256}
    try:
        names = storages[STORAGE].listdir(run.name)[1]
    except FileNotFoundError:
        return 0
    unnamed = [name for name in names if name not in used_names]
    for name in unnamed:
        blobs.delete_file(name_file(run.name, name), storage=STORAGE)
    return len(unnamed)
