"""Uploads of files named by their hash: written beside the storages, and checked, before stored."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from django.conf import settings

from matches.errors import MatchError

_CHUNK = 1 << 20


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
def stage_content(content: Stream, digest: str, n_bytes: int) -> Iterator[Path]:
    """Yield a file beside the storage with the content. Raises UploadError if it is another one."""
    hashed, n_left = sha256(), n_bytes
    # Beside the storage, so that it is stored by renaming it.
    with TemporaryDirectory(prefix="staging-", dir=settings.VAR) as folder:
        staged = Path(folder) / digest
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
