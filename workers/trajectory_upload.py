"""Upload pieces of trajectories to the web server, by the signed link of an order."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from arena.messages import Ending, Reason
from workers.errors import WorkerError
from workers.failures import one_line

WAITS_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
LIMIT_S = 20.0
# What a later try may find changed; any other refusal is of the piece itself.
_PASSING = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INSUFFICIENT_STORAGE,
)


class UploadError(WorkerError):
    """A piece was not stored; `ending` and `reason` say what that makes of its matches."""

    def __init__(self, detail: str, *, ending: Ending, reason: Reason) -> None:
        self.detail, self.ending, self.reason = one_line(detail), ending, reason
        super().__init__(self.detail)


@dataclass(frozen=True)
class TrajectorySite:
    """Where an order puts its pieces: the web server, and path and query of the signed link."""

    url: str
    link: str
    sleep: Callable[[float], object] = time.sleep

    def upload_piece(self, piece: bytes) -> str:
        """Return the SHA-256 under which the piece is stored, once it is. Raises UploadError."""
        digest = sha256(piece).hexdigest()
        path, _, query = self.link.partition("?")
        address = f"{self.url}{path}/{digest}?{query}"
        why = _try_upload(address, piece)
        for wait_s in WAITS_S:
            if not why:
                return digest
            self.sleep(wait_s)
            why = _try_upload(address, piece)
        if why:
            raise UploadError(
                f"trajectories not stored at {self.url}: {why}",
                ending=Ending.INTERRUPTED,
                reason=Reason.SITE_LOST,
            )
        return digest


def _try_upload(address: str, piece: bytes) -> str:
    """Return why the piece is not stored yet, empty when it is. Raises PutError for good."""
    request = Request(address, data=piece, method="PUT")
    request.add_header("Content-Type", "application/vnd.apache.parquet")
    try:
        with urlopen(request, timeout=LIMIT_S):
            return ""
    except HTTPError as error:
        why = f"{error.code} {error.read(200).decode(errors='replace').strip()}"
        if error.code < HTTPStatus.INTERNAL_SERVER_ERROR and error.code not in _PASSING:
            detail = f"trajectories refused: {why}"
            raise UploadError(detail, ending=Ending.FAILED, reason=Reason.ERROR) from error
        return why
    except (URLError, OSError) as error:
        return str(error)
