"""Files of the server: written as they come, kept only with the right SHA-256."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path
from typing import Final

import requests

from evalsite_client.errors import ChecksumError, InputError, UnreachableError
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
    Raises ChecksumError, UnreachableError, InputError where the path is a device, a pipe or a
    folder; nothing is then at the path that was not before.
    """
    if path.is_file() and compute_sha256(path) == digest:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    download_stream(
        transport,
        lambda: transport.open_stream(link()),
        path,
        digest=digest,
        progress=progress,
    )
    return path


def replace_text(path: Path, text: str) -> None:
    """Write a file whole or not at all: who reads it sees the one before or the one after."""
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def download_stream(
    transport: Transport,
    open_stream: Callable[[], AbstractContextManager[requests.Response]],
    path: Path,
    *,
    digest: str = "",
    progress: Received | None = None,
) -> Mapping[str, str]:
    """Write the body of an answer to a path; return its headers. Raises as download_file does.

    digest: what the SHA-256 must be; empty: what the ETag says.
    """
    target = path.resolve()  # a link stays a link
    # By the path: what /dev/stdout is resolved to where that is a pipe does not exist.
    if path.exists() and not path.is_file():
        # Where root may rename a file to its name, a device would be gone.
        raise InputError("path", f"{str(path)!r} is a device, a pipe or a folder: name a file")
    # Under a name of its own until its hash is right: nobody takes half a file for a whole one.
    part = target.with_name(f"{target.name}.part")
    n_tried = 0
    try:
        while True:
            n_tried += 1
            # Begun anew rather than continued: a torn file may be torn anywhere.
            headers, error = _fetch_once(open_stream(), part, digest=digest, progress=progress)
            if error is None:
                part.replace(target)
                return headers
            if not transport.pause_before_retry(n_tried, None):
                raise error
    finally:
        part.unlink(missing_ok=True)


def _fetch_once(
    stream: AbstractContextManager[requests.Response],
    part: Path,
    *,
    digest: str,
    progress: Received | None,
) -> tuple[Mapping[str, str], UnreachableError | ChecksumError | None]:
    """Write what a stream has; return its headers and what is wrong with it, None if nothing."""
    hashed, n_read = sha256(), 0
    headers: Mapping[str, str] = {}
    try:
        with stream as response, part.open("wb") as file:
            headers = response.headers  # not a dict of them: servers write names in any case
            for chunk in response.iter_content(CHUNK):
                file.write(chunk)
                hashed.update(chunk)
                n_read += len(chunk)
                if progress is not None:
                    progress(n_read)
    except requests.RequestException as error:
        cause = find_cause(error)
        return headers, UnreachableError(f"{part.stem} broke off after {n_read:,} bytes: {cause}")
    expected = digest or headers.get("ETag", "").removeprefix("W/").strip('"')
    if (actual := hashed.hexdigest()) == expected:
        return headers, None
    return headers, ChecksumError(f"{part.stem} has the SHA-256 {actual} instead of {expected}")
