"""Calls of the API over HTTP: sent again where that is safe, refusals as errors."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode
from uuid import uuid4

import requests
from requests import PreparedRequest, Response

from evalsite_client.clock import Clock
from evalsite_client.errors import (
    AnswerError,
    InputError,
    NotThereError,
    ProblemError,
    UnreachableError,
    problem,
)
from evalsite_client.retries import AGAIN, Retries, asked_s
from evalsite_client.uploads import Form

API: Final = "/api/v1/"
UPLOAD_TIMEOUT_S: Final = 900.0
"""A server hashes and keeps a large file before it answers."""


class Login(requests.auth.AuthBase):
    """Puts one's own header in; also keeps requests from taking a login from ~/.netrc."""

    def __init__(self, header: str = "") -> None:
        """header: the value of Authorization; none if empty."""
        self._header = header

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        """Return the request with the header."""
        if self._header:
            request.headers["Authorization"] = self._header
        return request


NOBODY = Login()


@dataclass(frozen=True)
class Call:
    """One request, which may be sent several times."""

    method: str
    address: str
    body: bytes | Form | None = None
    login: Login = NOBODY
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 30.0
    is_streamed: bool = False

    @property
    def is_write(self) -> bool:
        """Return whether it changes something."""
        return self.method != "GET"


@dataclass(frozen=True)
class Transport:
    """Sends calls to one server as one caller."""

    base_url: str
    login: Login
    timeout_s: float
    retries: Retries
    clock: Clock
    rng: random.Random
    session: requests.Session

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON at a path below the API's root. Raises ClientError."""
        return _json(self._answer(self._call("GET", path, query)))

    def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Return the JSON that a POST answers; `key` makes it done once, one is made if missing."""
        headers = {**_keyed(key), "Content-Type": "application/json"}
        call = replace(self._call("POST", path), body=_encoded(body), headers=headers)
        return _json(self._answer(call))

    def upload(self, path: str, form: Form, *, key: str | None = None) -> Any:
        """Return the JSON that a POST of a form with a file answers."""
        headers = {**_keyed(key), "Content-Type": form.content_type}
        call = replace(self._call("POST", path), body=form, headers=headers)
        return _json(self._answer(replace(call, timeout_s=max(self.timeout_s, UPLOAD_TIMEOUT_S))))

    def delete(self, path: str) -> None:
        """Delete what is at a path; what an unanswered call deleted already counts as done."""
        self._answer(self._call("DELETE", path))

    @contextmanager
    def stream(self, href: str) -> Iterator[Response]:
        """Give the answer to a signed link of the server, whose body is read as it comes."""
        address = f"{self.base_url}{href}"
        call = Call("GET", address, timeout_s=self.timeout_s, is_streamed=True)
        with self._answer(call) as response:
            yield response

    def pause(self, n_tried: int, response: Response | None) -> bool:
        """Sleep before the next attempt; False, at once, where there is to be none."""
        header = response.headers.get("Retry-After") if response is not None else None
        wanted = asked_s(header, now=self.clock.now())
        pause_s = self.retries.pause_s(n_tried, asked_s=wanted, draw=self.rng.random)
        if pause_s is None:
            return False
        self.clock.sleep(pause_s)
        return True

    def _call(self, method: str, path: str, query: Mapping[str, Any] | None = None) -> Call:
        address = f"{self.base_url}{API}{path}/{_query(query or {})}"
        return Call(method, address, login=self.login, timeout_s=self.timeout_s)

    def _answer(self, call: Call) -> Response:
        """Return the first answer that says yes. Raises ClientError for the last that does not."""
        n_tried = 0
        while True:
            n_tried += 1
            response, error = self._tried(call, n_tried)
            if error is None:
                assert response is not None
                return response
            if not _may_pass(error, call, n_tried) or not self.pause(n_tried, response):
                raise error

    def _tried(self, call: Call, n_tried: int) -> tuple[Response | None, Exception | None]:
        try:
            response = self._sent(call)
        except UnreachableError as unanswered:
            return None, unanswered
        if response.ok and not response.is_redirect:
            return response, None
        error = _refused(response, call, now=self.clock)
        if n_tried > 1 and call.method == "DELETE" and isinstance(error, NotThereError):
            return response, None
        return response, error

    def _sent(self, call: Call) -> Response:
        """Return the answer to one attempt. Raises UnreachableError, InputError."""
        try:
            return self.session.request(
                call.method,
                call.address,
                data=call.body,
                headers=dict(call.headers),
                auth=call.login,
                timeout=call.timeout_s,
                allow_redirects=False,  # a POST would become a GET
                stream=call.is_streamed,
            )
        except (requests.exceptions.InvalidURL, requests.exceptions.InvalidHeader) as error:
            raise InputError("base_url", f"{error}") from error
        except requests.RequestException as error:
            raise UnreachableError(f"{self.base_url} does not answer: {cause(error)}") from error


def cause(error: BaseException) -> str:
    """Return what the innermost error says: that of the socket, without addresses of objects."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return f"{error}" or type(error).__name__


def _may_pass(error: Exception, call: Call, n_tried: int) -> bool:
    """Say whether the same call may fare better.

    Sent again, a write may meet its first attempt, whose answer was lost: it is then under way.
    """
    if isinstance(error, UnreachableError):
        return not isinstance(error.__cause__, requests.exceptions.SSLError)
    if not isinstance(error, ProblemError):
        return False
    is_own_conflict = error.status == HTTPStatus.CONFLICT and call.is_write and n_tried > 1
    return error.status in AGAIN or is_own_conflict


def _refused(response: Response, call: Call, *, now: Clock) -> Exception:
    if response.is_redirect:
        to = response.headers.get("Location", "")
        return AnswerError(f"{call.address} redirects to {to}: use that server's address")
    body = _body(response) if "json" in response.headers.get("Content-Type", "") else None
    error = problem(
        response.status_code, body, reason=response.reason, instance=call.address.partition("?")[0]
    )
    error.retry_after_s = asked_s(response.headers.get("Retry-After"), now=now.now())
    return error


def _json(response: Response) -> Any:
    if "json" not in response.headers.get("Content-Type", ""):
        raise AnswerError(f"{response.url} answers no JSON: is this the address of evalsite?")
    return _body(response)


def _body(response: Response) -> Any:
    try:
        return response.json()
    except requests.JSONDecodeError as error:
        raise AnswerError(f"{response.url} answers no valid JSON: {error}") from error


def _keyed(key: str | None) -> dict[str, str]:
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key and key):
        raise InputError("key", f"visible ASCII characters are taken, got {key!r:.80}")
    return {"Idempotency-Key": uuid4().hex if key is None else key}


def _encoded(body: Any) -> bytes:
    """Return a body as JSON; none as an empty object. Raises InputError."""
    try:
        return json.dumps(body or {}, default=_plain, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError("body", f"it cannot be sent as JSON: {error}") from error


def _plain(value: Any) -> Any:
    """Return what JSON has for a value that it has not."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping | Sequence):
        return dict(value) if isinstance(value, Mapping) else list(value)
    raise TypeError(f"{value!r:.80} is of no type that JSON has")


def _query(wanted: Mapping[str, Any]) -> str:
    given = {name: _text(value) for name, value in wanted.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
