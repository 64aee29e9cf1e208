"""What all clouds share: the form of a notice, and short, bounded calls of a metadata address."""

from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from workers.errors import NoticeError

ADDRESS = "http://169.254.169.254"
LIMIT_S = 2.0
# An answer is a few hundred bytes; Azure's names the events of a whole set of machines.
MAX_BYTES = 65_536
Form = TypeVar("Form")


class Notice(NamedTuple):
    """That the machine is about to go. key tells it from others; final: the end is certain."""

    key: str
    reason: str
    is_final: bool = True


class Answer(NamedTuple):
    """What a metadata address answered; the names of headers in small letters."""

    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def read_text(self) -> str:
        """Return the body of a 200. Raises NoticeError for any other status."""
        if self.status != HTTPStatus.OK:
            raise self.refuse()
        return self.body.decode("utf-8", "replace").strip()

    def read_json(self, form: type[Form]) -> Form:
        """Return the body of a 200 in a form. Raises NoticeError when it is none."""
        if self.status != HTTPStatus.OK:
            raise self.refuse()
        try:
            return msgspec.json.decode(self.body, type=form)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.refuse() from error

    def refuse(self) -> NoticeError:
        """Return the error of an answer that this cloud does not give."""
        return NoticeError(f"{self.path} answered {self.status} {self.body[:80]!r}")


class Cloud(Protocol):
    """How one cloud is asked."""

    name: str

    def is_here(self) -> bool:
        """Return True on a machine of this cloud. Raises NoticeError elsewhere."""
        ...

    def read_notice(self) -> Notice | None:
        """Return the notice that stands; None: there is none. Raises NoticeError."""
        ...


class Metadata:
    """A metadata address; no proxy is asked and no redirect followed."""

    def __init__(self, address: str = ADDRESS, *, limit_s: float = LIMIT_S) -> None:
        self._host, self._limit_s = urlsplit(address).netloc, limit_s

    def ask(self, path: str, headers: Mapping[str, str], *, method: str = "GET") -> Answer:
        """Return the answer, whatever its status. Raises NoticeError naming what was asked."""
        connection = HTTPConnection(self._host, timeout=self._limit_s)
        try:
            connection.request(method, path, headers=dict(headers))
            response = connection.getresponse()
            body = response.read(MAX_BYTES + 1)
        except (OSError, HTTPException, ValueError) as error:
            raise NoticeError(f"{path} at {self._host}: {type(error).__name__} {error}") from error
        finally:
            connection.close()
        if len(body) > MAX_BYTES:
            raise NoticeError(f"{path} at {self._host} answered more than {MAX_BYTES} bytes")
        headers_by_name = {name.lower(): value for name, value in response.getheaders()}
        return Answer(path, response.status, headers_by_name, body)
