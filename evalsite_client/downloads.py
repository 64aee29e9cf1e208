"""Files of the server: written as they come, kept only with the right SHA-256."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import requests

from evalsite_client.errors import ChecksumError, UnreachableError
from evalsite_client.transport import Transport, cause
from evalsite_client.uploads import sha256 as sha256_of

CHUNK: Final = 1 << 20
Received = Callable[[int], None]
"""Told of bytes so far; begins again from 0 when the file is fetched again."""


def download(
    transport: Transport,
    link: Callable[[], str],
    path: Path,
    *,
    digest: str,
    progress: Received | None = None,
) -> Path:
    """Fetch a file to a path unless it is there already; return the path.

    link: gives path and query on the server, asked anew for every attempt because links end.
    Raises ChecksumError, UnreachableError; nothing is then at the path that was not before.
    """
    if path.is_file() and sha256_of(path) == digest:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    n_tried = 0
    try:
        while True:
            n_tried += 1
            error = _fetched(transport, link(), part, digest=digest, progress=progress)
            if error is None:
                return part.replace(path)
            if not transport.pause(n_tried, None):
                raise error
    finally:
        part.unlink(missing_ok=True)


def _fetched(
    transport: Transport, href: str, part: Path, *, digest: str, progress: Received | None
) -> UnreachableError | ChecksumError | None:
    """Write what is at a link; return what is wrong with it, None if nothing."""
    seen = sha256()
    n_read = 0
    try:
        with transport.stream(href) as response, part.open("wb") as file:
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                seen.update(chunk)
                n_read += len(chunk)
                if progress is not None:
                    progress(n_read)
    except requests.RequestException as error:
        return UnreachableError(f"{part.stem} broke off after {n_read:,} bytes: {cause(error)}")
    if seen.hexdigest() == digest:
        return None
    return ChecksumError(f"{part.stem} has the SHA-256 {seen.hexdigest()} instead of {digest}")
