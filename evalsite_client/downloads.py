"""Files of the server: written as they come, kept only with the right SHA-256."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Final

import requests

from evalsite_client.errors import ChecksumError, UnreachableError
from evalsite_client.transport import Transport, find_cause
from evalsite_client.uploads import compute_sha256

CHUNK: Final = 1 << 20
# Told of bytes so far; begins again from 0 when the file is fetched again.
Received = Callable[[int], None]


def download_file(
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
    if path.is_file() and compute_sha256(path) == digest:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under a name of its own until its hash is right: nobody takes half a file for a whole one.
    part = path.with_name(f"{path.name}.part")
    n_tried = 0
    try:
        while True:
            n_tried += 1
            # Begun anew rather than continued: a torn file may be torn anywhere.
            error = _fetch_once(transport, link(), part, digest=digest, progress=progress)
            if error is None:
                return part.replace(path)
            if not transport.pause_before_retry(n_tried, None):
                raise error
    finally:
        part.unlink(missing_ok=True)


def _fetch_once(
    transport: Transport, href: str, part: Path, *, digest: str, progress: Received | None
) -> UnreachableError | ChecksumError | None:
    """Write what is at a link; return what is wrong with it, None if nothing."""
    hashed = sha256()
    n_read = 0
    try:
        with transport.open_stream(href) as response, part.open("wb") as file:
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                hashed.update(chunk)
                n_read += len(chunk)
                if progress is not None:
                    progress(n_read)
    except requests.RequestException as error:
        cause = find_cause(error)
        return UnreachableError(f"{part.stem} broke off after {n_read:,} bytes: {cause}")
    if (found := hashed.hexdigest()) == digest:
        return None
    return ChecksumError(f"{part.stem} has the SHA-256 {found} instead of {digest}")
