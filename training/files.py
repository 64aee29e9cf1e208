"""Files of a run on the web server: fetched and put by signed links, named by their SHA-256."""

import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from http import HTTPStatus
from typing import Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from arena.train_messages import DataFile
from training.errors import StateError, TrainingError, UnavailableError

LIMIT_S: Final = 30.0
MAX_BYTES: Final = 256 << 20
# Also a link that has run out while its order waited: the next order has new ones.
_PASSING: Final = (
    *(HTTPStatus.FORBIDDEN, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS),
)
PAUSES_S: Final = (1.0, 2.0, 4.0)
"""Between tries while the server does not answer: signs of life hold the slice meanwhile."""
_TYPE: Final = {"Content-Type": "application/octet-stream"}


class RunFiles:
    """The files of one run."""

    def __init__(self, site_url: str, upload: str) -> None:
        """site_url: the only server asked; upload: path and query of the link to put files by."""
        self._site_url, self._upload = site_url, upload

    def fetch(self, digest: str, link: str) -> bytes:
        """Return a file by its link. Raises UnavailableError; StateError where it is another."""
        content = _call(f"{self._site_url}{link}", None, {})
        if sha256(content).hexdigest() != digest:
            raise StateError(f"{len(content)} bytes came for {digest}, which are another file's")
        return content

    def fetch_data(self, files: Sequence[DataFile]) -> Iterator[bytes]:
        """Yield the content of each file, in order; one at a time is held. Raises as `fetch`."""
        for file in files:
            yield self.fetch(file.sha256, file.source)

    def put(self, content: bytes) -> str:
        """Return the SHA-256 under which a file is stored, once it is. Raises UnavailableError."""
        digest = sha256(content).hexdigest()
        path, _, query = self._upload.partition("?")
        _call(f"{self._site_url}{path}/{digest}?{query}", content, _TYPE)
        return digest


def _call(url: str, content: bytes | None, headers: Mapping[str, str]) -> bytes:
    for pause_s in PAUSES_S:
        try:
            return _call_once(url, content, headers)
        except UnavailableError:
            time.sleep(pause_s)
    return _call_once(url, content, headers)


def _call_once(url: str, content: bytes | None, headers: Mapping[str, str]) -> bytes:
    request = Request(url, data=content, headers=dict(headers))
    request.method = "GET" if content is None else "PUT"
    # Neither the address nor its signature is shown: reports go where others read them.
    try:
        with urlopen(request, timeout=LIMIT_S) as answer:
            return bytes(answer.read(MAX_BYTES))
    except HTTPError as error:
        why = f"the web server answers {error.code} {error.read(200).decode(errors='replace')}"
        if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in _PASSING:
            raise TrainingError(why.strip()) from error
        raise UnavailableError(why.strip()) from error
    except (URLError, OSError) as error:
        raise UnavailableError(f"the web server does not answer: {error}") from error
