"""Files of checkpoints on this machine: fetched once by hash from the web server, verified, kept.

Several processes may share the folder: a file appears by an atomic rename, under its hash, and the
least recently used ones go when the folder is over its limit. The hash is verified while a file
arrives and once more per process before its first use, so that a damaged disk is noticed.
"""

import hashlib
import os
import re
import tempfile
import time
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError

from arena.checkpoints import MAX_BYTES, hash_file
from inference.errors import RequestError, UnavailableError
from inference.protocol import CheckpointRef, no_op

LIMIT_BYTES = 8 << 30
# How long a failed fetch is remembered: a batch of requests asks the web server once.
RETRY_S = 3.0
FETCH_S = 120.0
SOCKET_S = 15.0
STALE_S = 3600.0

_HASH = re.compile(r"[0-9a-f]{64}")
_SOURCE = re.compile(r"/files/checkpoints/[0-9a-f]{64}(\?[A-Za-z0-9._~%=&:+-]*)?")
_SUFFIX = ".safetensors"
_PIECE = 1 << 20


class CheckpointStore:
    """The checkpoints that this machine holds, and the way to the ones that it lacks."""

    def __init__(
        self,
        folder: Path,
        site_url: str,
        *,
        limit_bytes: int = LIMIT_BYTES,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep files in folder, up to limit_bytes in all; site_url is the only server asked."""
        self.folder, self.site_url = folder, site_url.rstrip("/")
        self.limit_bytes, self.max_bytes = limit_bytes, max_bytes
        self.n_fetched = 0
        self._clock = clock
        self._make_opener = _make_opener()
        self._verified: set[str] = set()
        self._failed: dict[CheckpointRef, tuple[float, str]] = {}

    def path(self, ref: CheckpointRef, *, keep_alive: Callable[[], None] = no_op) -> Path:
        """Return the verified file of a checkpoint; it is touched, so that it stays.

        keep_alive is called for every piece that arrives. Raises UnavailableError when the file
        cannot be had (for some seconds without asking again), RequestError for a name or a
        source of a wrong form.
        """
        if not _HASH.fullmatch(ref.checkpoint):
            raise RequestError(f"{ref.checkpoint!r:.80} is no SHA-256 of a checkpoint")
        if not _SOURCE.fullmatch(ref.source):
            problem = "no link of a checkpoint: /files/checkpoints/..."
            raise RequestError(f"{ref.source!r:.80} is {problem}")
        path = self.folder / f"{ref.checkpoint}{_SUFFIX}"
        if self._is_good(path, ref.checkpoint):
            # Several processes share the folder, so its files keep the time of their use
            # themselves.
            os.utime(path)
            return path
        now = self._clock()
        self._failed = {key: failure for key, failure in self._failed.items() if failure[0] > now}
        if ref in self._failed:
            raise UnavailableError(self._failed[ref][1])
        try:
            self._fetch_file(ref, path, keep_alive)
        except UnavailableError as error:
            self._failed[ref] = (self._clock() + RETRY_S, str(error))
            raise
        return path

    def _is_good(self, path: Path, checkpoint: str) -> bool:
        """Return False for a file that is missing; one that is damaged is removed."""
        if not path.is_file():
            return False
        if checkpoint in self._verified:
            return True
        try:
            digest = hash_file(path)
        except FileNotFoundError:
            return False  # another process made room
        if digest != checkpoint:
            path.unlink(missing_ok=True)
            return False
        self._verified.add(checkpoint)
        return True

    def _fetch_file(self, ref: CheckpointRef, path: Path, keep_alive: Callable[[], None]) -> None:
        if not self.site_url:
            raise UnavailableError(f"{_name_of(ref)}: no web server is set to fetch it from")
        self.folder.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that the rename is atomic: other processes see a whole file or
        # none.
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix=".fetch-", delete=False) as file:
            try:
                digest = self._receive_file(ref, file, keep_alive)
                if digest != ref.checkpoint:
                    raise UnavailableError(f"{_name_of(ref)}: what was sent has hash {digest[:12]}")
                Path(file.name).replace(path)
            finally:
                Path(file.name).unlink(missing_ok=True)
        self.n_fetched += 1
        self._verified.add(ref.checkpoint)
        self._make_room(path)

    def _receive_file(
        self, ref: CheckpointRef, file: IO[bytes], keep_alive: Callable[[], None]
    ) -> str:
        """Write what the server sends; return its hash."""
        try:
            with self._make_opener.open(self.site_url + ref.source, timeout=SOCKET_S) as response:
                return self._copy_pieces(ref, response, file, keep_alive)
        except HTTPError as error:
            error.close()
            raise UnavailableError(f"{_name_of(ref)}: the server answered {error.code}") from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            raise UnavailableError(f"{_name_of(ref)}: {type(error).__name__}: {reason}") from error

    def _copy_pieces(
        self,
        ref: CheckpointRef,
        response: HTTPResponse,
        file: IO[bytes],
        keep_alive: Callable[[], None],
    ) -> str:
        """Copy at most max_bytes within FETCH_S: a server that drips does not hold a worker."""
        give_up, n_bytes, digest = self._clock() + FETCH_S, 0, hashlib.sha256()
        while piece := response.read1(_PIECE):
            n_bytes += len(piece)
            if n_bytes > self.max_bytes:
                raise UnavailableError(
                    f"{_name_of(ref)}: more than {self.max_bytes} bytes were sent"
                )
            if self._clock() > give_up:
                raise UnavailableError(f"{_name_of(ref)}: not here after {FETCH_S:.0f} s")
            digest.update(piece)
            file.write(piece)
            keep_alive()
        file.flush()
        return digest.hexdigest()

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used files until the folder is within its limit."""
        now = newest.stat().st_mtime
        files = sorted(_list_files(self.folder), key=lambda file: file[0])
        too_much = sum(n_bytes for _, n_bytes, _ in files) - self.limit_bytes
        for used_at, n_bytes, path in files:
            is_left_over = path.suffix != _SUFFIX
            if is_left_over and now - used_at < STALE_S:
                continue  # another process may be writing it
            if path != newest and (too_much > 0 or is_left_over):
                path.unlink(missing_ok=True)
                too_much -= n_bytes


def _make_opener() -> urllib.request.OpenerDirector:
    """Return what opens http and https and follows no redirect: only one server is asked."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _name_of(ref: CheckpointRef) -> str:
    return f"checkpoint {ref.checkpoint[:12]}"


def _list_files(folder: Path) -> list[tuple[float, int, Path]]:
    """Return when each file was used last, its bytes and its path."""
    files = []
    for path in folder.iterdir():
        try:
            status = path.stat()
        except FileNotFoundError:
            continue  # another process made room
        files.append((status.st_mtime, status.st_size, path))
    return files
