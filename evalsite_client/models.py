"""What training runs publish: the latest version is asked for by its ETag, its weights by hash."""

from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

import requests

from evalsite_client.api import models
from evalsite_client.api.models import Version
from evalsite_client.decoding import decode
from evalsite_client.downloads import CHUNK
from evalsite_client.errors import AnswerError, ChecksumError, NotThereError, UnreachableError
from evalsite_client.transport import find_cause

MOST_BYTES: Final = 256 * 2**20


class Models(models.Models):
    """Versions of the policies of training runs, followed and loaded."""

    def find_latest(
        self, run: str, *, is_released: bool = False, etag: str = ""
    ) -> tuple[Version, str] | None:
        """Return the latest version of a run and its ETag; None while that is still `etag`.

        is_released: of those that were judged and released; else the newest. Raises
        NotThereError while there is none.
        """
        path = f"models/{quote(run, safe='')}/latest"
        query = {"released": "true"} if is_released else {}
        answered = self._transport.get_changed(path, query, etag=etag)
        if answered is None:
            return None
        body, tag = answered
        return decode(Version, body), tag

    def fetch_weights(self, version: Version) -> bytes:
        """Return the file of a version, which has its size and SHA-256.

        Raises NotThereError where it is gone; ChecksumError where it comes wrong again and again,
        UnreachableError where it breaks off.
        """
        name = f"version {version.version} of run {version.run}"
        if not version.url:
            status = HTTPStatus.NOT_FOUND
            raise NotThereError(status, status.phrase, f"{name} has no file any more")
        if not 0 < version.size <= MOST_BYTES:
            raise AnswerError(f"{name} has {version.size} bytes: at most {MOST_BYTES} are taken")
        n_tried = 0
        while True:
            n_tried += 1
            content, fault = self._read_file(version, name)
            if fault is None:
                return content
            if not self._transport.pause_before_retry(n_tried, None):
                raise fault

    def _read_file(
        self, version: Version, name: str
    ) -> tuple[bytes, UnreachableError | ChecksumError | None]:
        """Return what came, and what is wrong with it."""
        content = bytearray()
        try:
            with self._transport.open_stream(version.url) as response:
                for piece in response.iter_content(CHUNK):
                    content += piece
                    # What is longer than it should be is not read to its end.
                    if len(content) > version.size:
                        break
        except requests.RequestException as error:
            broken = f"{name} broke off after {len(content):,} bytes: {find_cause(error)}"
            return b"", UnreachableError(broken)
        if (actual := sha256(content).hexdigest()) == version.sha256:
            return bytes(content), None
        came = f"{len(content)} bytes with the SHA-256 {actual}"
        return b"", ChecksumError(f"{name} came as {came} instead of {version.sha256}")
