"""The API server of SkyPilot over plain HTTP: a request is posted, its result fetched by its id.

Seen in version 0.14.1: `POST /status` answers `null` and names the request in a header; `GET
/api/get?request_id=` waits until it has ended and answers its record, the result in it as JSON
within JSON; what failed comes with status 500 and the record as `detail`. In such a record
`entrypoint`, `request_body`, `error.object` and the `handle` of each entry are pickles. No type
below has a field for them: they are skipped as they are read, and never decoded.
"""

import base64
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import quote, unquote, urlsplit

import msgspec

from gameservers.discovery.sightings import LookError, shorten
from gameservers.discovery.transport import Ask, Call, Reply
from gameservers.errors import SettingsError

ENDPOINT: Final = "SKYPILOT_API_SERVER_ENDPOINT"
TOKEN: Final = "SKYPILOT_API_SERVER_SERVICE_ACCOUNT_TOKEN"
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9-]{1,80}")
_TOKEN: Final = re.compile(r"[\x21-\x7e]*")


class RequestFailedError(LookError):
    """The API server has tried and failed; `kind` is the name of its exception."""

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        super().__init__(f"{shorten(kind)}: {shorten(message)}")


class _Record(msgspec.Struct):
    status: str
    return_value: str | None = None
    error: str | None = None


class _Detail(msgspec.Struct):
    detail: msgspec.Raw = msgspec.Raw(b'""')


class _Failure(msgspec.Struct):
    type: str = "error"
    message: str = ""


class ApiServer:
    """One API server, asked as a service account."""

    def __init__(self, url: str, token: str, *, ask: Ask) -> None:
        """Keep where it is. Raises SettingsError for what is no address or no token."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
            address = f"{parts.scheme}://{parts.hostname or ''}"
            raise SettingsError(ENDPOINT, address, "the API server's address, http(s)://host:port")
        if not _TOKEN.fullmatch(token):
            raise SettingsError(TOKEN, f"{len(token)} characters", "the token in one line of ASCII")
        # Users and passwords never enter a text that is shown.
        self.address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".rstrip("/")
        self._ask, self._headers = ask, _list_credentials(parts.username, parts.password, token)

    async def call(self, path: str, arguments: Mapping[str, object], *, limit_s: float) -> bytes:
        """Return the result of a request as JSON. Raises LookError, RequestFailedError."""
        headers = {**self._headers, "Content-Type": "application/json"}
        body = msgspec.json.encode(arguments)
        call = Call("POST", f"{self.address}{path}", headers, body, limit_s)
        posted = self._check_reply(await self._ask(call))
        request = posted.headers.get("x-skypilot-request-id", "")
        if not _REQUEST_ID.fullmatch(request):
            raise LookError(
                f"{self.address} has named no request: is {ENDPOINT} a SkyPilot API server?"
            )
        fetch = f"{self.address}/api/get?request_id={quote(request)}"
        return self._read_result(await self._ask(Call("GET", fetch, self._headers, b"", limit_s)))

    def _read_result(self, reply: Reply) -> bytes:
        if reply.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            raise _read_failure(reply) or LookError(f"{self.address} answered 500")
        self._check_reply(reply)
        try:
            record = msgspec.json.decode(reply.body, type=_Record)
        except (msgspec.DecodeError, UnicodeError) as error:
            raise LookError(f"{self.address} has sent no result: {shorten(error)}") from error
        if record.status != "SUCCEEDED" or record.return_value is None:
            raise LookError(f"{self.address}: the request ended as {shorten(record.status)}")
        return record.return_value.encode()

    def _check_reply(self, reply: Reply) -> Reply:
        """Return a reply that is one. Raises LookError that says what to do."""
        if reply.status == HTTPStatus.OK:
            return reply
        text = _read_detail(reply)
        if reply.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise LookError(
                f"{self.address} refuses the token ({reply.status}: {text}): set {TOKEN} anew"
            )
        if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
            place = shorten(reply.headers.get("location", ""))
            raise LookError(
                f"{self.address} redirects to {place}, which is not followed: "
                f"set {ENDPOINT} to the API server itself"
            )
        raise LookError(f"{self.address} answered {reply.status}: {text}")


def _list_credentials(user: str | None, password: str | None, token: str) -> dict[str, str]:
    if token:
        return {"Authorization": f"Bearer {token}"}
    if user is None:
        return {}
    login = f"{unquote(user)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(login).decode()}"}


def _read_failure(reply: Reply) -> RequestFailedError | None:
    """Return what a request failed with, None where the reply does not say."""
    try:
        detail = msgspec.json.decode(reply.body, type=_Detail).detail
        record = msgspec.json.decode(detail, type=_Record)
        failure = msgspec.json.decode(record.error or "null", type=_Failure)
    except (msgspec.DecodeError, UnicodeError):
        return None
    return RequestFailedError(failure.type, failure.message)


def _read_detail(reply: Reply) -> str:
    try:
        detail = msgspec.json.decode(reply.body, type=_Detail).detail
        return shorten(msgspec.json.decode(detail, type=str))
    except (msgspec.DecodeError, UnicodeError):
        return shorten(reply.body.decode("utf-8", "replace")) or "without a word"
