"""Uploads of files named by their hash: written beside the storages, and checked, before stored."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from django.conf import settings

from matches.errors import MatchError

LEFT_AFTER = timedelta(days=1)
_CHUNK = 1 << 20
_PREFIX = "staging-"
log = logging.getLogger(__name__)


class UploadError(MatchError):
    """A file is refused; `status` is the answer to who sends it."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        """Keep the status and why."""
        self.status = status
        super().__init__(message)


class Stream(Protocol):
    """Where the content comes from."""

    def read(self, size: int = -1, /) -> bytes:
        """Return at most so many bytes, none at the end."""
        ...


@contextmanager
def staging_folder() -> Iterator[Path]:
    """Yield a new folder beside the storages, so that a file of it is stored by renaming it."""
    with TemporaryDirectory(prefix=_PREFIX, dir=settings.VAR) as folder:
        yield Path(folder)


def sweep_staging(*, now: datetime) -> int:
    """Delete the folders that killed programs have left here, after a day; return how many."""
    oldest = (now - LEFT_AFTER).timestamp()
    left = [
        folder
        for folder in Path(settings.VAR).glob(f"{_PREFIX}*")
        if folder.is_dir() and folder.stat().st_mtime < oldest
    ]
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    if left:
        log.warning("%d folders of programs that were killed were deleted", len(left))
    return len(left)


@contextmanager
def stage_content(content: Stream, digest: str, n_bytes: int) -> Iterator[Path]:
    """Yield a file beside the storage with the content. Raises UploadError if it is another one."""
    hashed, n_left = sha256(), n_bytes
    with staging_folder() as folder:
        staged = folder / digest
        with staged.open("wb") as file:
            # Never more than was announced, however much is sent.
            while n_left and (chunk := content.read(min(_CHUNK, n_left))):
                hashed.update(chunk)
                file.write(chunk)
                n_left -= len(chunk)
        if n_left or hashed.hexdigest() != digest:
            came = f"{n_bytes - n_left} of {n_bytes} bytes with SHA-256 {hashed.hexdigest()} came"
            raise UploadError(HTTPStatus.BAD_REQUEST, f"{came} for {digest}: send it again")
        yield staged
