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

from evalsite_client.errors import (
    AnswerError,
    InputError,
    NotThereError,
    ProblemError,
    UnreachableError,
    read_problem,
)
from evalsite_client.retries import PASSING_STATUSES, Clock, Retries, read_retry_after
from evalsite_client.uploads import Form

API: Final = "/api/v1/"
# A server hashes and keeps a large file before it answers.
UPLOAD_TIMEOUT_S: Final = 900.0


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
        # Django reads true, not True.
        parameters = {
            name: str(of).lower() if isinstance(of, bool) else of
            for name, of in (query or {}).items()
            if of is not None
        }
        asked = f"?{urlencode(parameters)}" if parameters else ""
        return _read_json(self._send_call(self._make_call("GET", path, asked)))

    def get_changed(
        self, path: str, query: Mapping[str, Any], *, etag: str
    ) -> tuple[Any, str] | None:
        """Return the JSON at a path and its ETag; None while that is still `etag`.

        Raises ClientError.
        """
        call = self._make_call("GET", path, f"?{urlencode(query)}" if query else "")
        headers = {"If-None-Match": etag} if etag else {}
        response = self._send_call(replace(call, headers=headers))
        if response.status_code == HTTPStatus.NOT_MODIFIED:
            return None
        return _read_json(response), response.headers.get("ETag", "")

    @contextmanager
    def open_file(self, path: str, query: Mapping[str, Any]) -> Iterator[Response]:
        """Give the answer to a GET that is a file, whose body is read as it comes."""
        call = self._make_call("GET", path, f"?{urlencode(query)}")
        # The server makes the file before it answers.
        timeout_s = max(self.timeout_s, UPLOAD_TIMEOUT_S)
        with self._send_call(replace(call, timeout_s=timeout_s, is_streamed=True)) as response:
            yield response

    def post(
        self, path: str, body: Any = None, *, key: str | None = None, timeout_s: float = 0.0
    ) -> Any:
        """Return the JSON that a POST answers; `key` makes it done once, one is made if missing.

        timeout_s: of an answer that takes longer than others.
        """
        headers = {**_make_key_header(key), "Content-Type": "application/json"}
        call = replace(self._make_call("POST", path), body=_encode_body(body), headers=headers)
        return _read_json(self._send_call(replace(call, timeout_s=max(call.timeout_s, timeout_s))))

    def post_bytes(self, path: str, content: bytes, *, kind: str) -> Any:
        """Return the JSON that a POST of bytes of a media type answers."""
        call = self._make_call("POST", path)
        headers = {"Content-Type": kind}
        return _read_json(self._send_call(replace(call, body=content, headers=headers)))

    def upload(self, path: str, form: Form, *, key: str | None = None) -> Any:
        """Return the JSON that a POST of a form with a file answers."""
        headers = {**_make_key_header(key), "Content-Type": form.content_type}
        timeout_s = max(self.timeout_s, UPLOAD_TIMEOUT_S)
        call = replace(self._make_call("POST", path), body=form, headers=headers)
        return _read_json(self._send_call(replace(call, timeout_s=timeout_s)))

    def delete(self, path: str) -> None:
        """Delete what is at a path; what an unanswered call deleted already counts as done."""
        self._send_call(self._make_call("DELETE", path))

    @contextmanager
    def open_stream(self, href: str) -> Iterator[Response]:
        """Give the answer to a signed link, whose body is read as it comes.

        href: a path of the server, or a whole address.
        """
        # The link is the login: a token must not go to a storage that it may lead to.
        is_whole = href.startswith(("http://", "https://"))
        address = href if is_whole else f"{self.base_url}{href}"
        call = Call("GET", address, timeout_s=self.timeout_s, is_streamed=True)
        with self._send_call(call) as response:
            yield response

    def pause_before_retry(self, n_tried: int, response: Response | None) -> bool:
        """Sleep before the next attempt; False, at once, where there is to be none."""
        header = response.headers.get("Retry-After") if response is not None else None
        pause_s = self.retries.compute_pause_s(
            n_tried, asked_s=read_retry_after(header), draw=self.rng.random
        )
        if pause_s is None:
            return False
        self.clock.sleep(pause_s)
        return True

    def _make_call(self, method: str, path: str, query: str = "") -> Call:
        address = f"{self.base_url}{API}{path}/{query}"
        return Call(method, address, login=self.login, timeout_s=self.timeout_s)

    def _send_call(self, call: Call) -> Response:
        """Return the first answer that says yes. Raises ClientError for the last that does not."""
        n_tried = 0
        while True:
            n_tried += 1
            # The same key every time: a write whose answer was lost is not done twice.
            response, error = self._try_once(call)
            # An attempt whose answer was lost has deleted it already.
            is_gone = call.method == "DELETE" and isinstance(error, NotThereError) and n_tried > 1
            if response is not None and (error is None or is_gone):
                return response
            assert error is not None
            if not _may_pass(error, call, n_tried) or not self.pause_before_retry(
                n_tried, response
            ):
                raise error

    def _try_once(self, call: Call) -> tuple[Response | None, Exception | None]:
        """Return the answer to one attempt, and what is wrong with it. Raises InputError."""
        try:
            response = self.session.request(
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
            unanswered = UnreachableError(f"{self.base_url} does not answer: {find_cause(error)}")
            unanswered.__cause__ = error
            return None, unanswered
        is_fine = response.ok and not response.is_redirect
        return response, None if is_fine else _read_refusal(response, call)


def find_cause(error: BaseException) -> str:
    """Return the text of the innermost error, such as the socket's, without object addresses."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    return f"{error}" or type(error).__name__


def _may_pass(error: Exception, call: Call, n_tried: int) -> bool:
    """Say whether the same call may fare better."""
    # A certificate that is not trusted stays so.
    if isinstance(error, UnreachableError):
        return not isinstance(error.__cause__, requests.exceptions.SSLError)
    if not isinstance(error, ProblemError):
        return False
    # Sent again, a write may meet its first attempt, whose answer was lost: that is under way.
    is_own_conflict = error.status == HTTPStatus.CONFLICT and call.method != "GET" and n_tried > 1
    return error.status in PASSING_STATUSES or is_own_conflict


def _read_refusal(response: Response, call: Call) -> Exception:
    if response.is_redirect:
        to = response.headers.get("Location", "")
        return AnswerError(f"{call.address} redirects to {to}: use that server's address")
    is_json = "json" in response.headers.get("Content-Type", "")
    error = read_problem(
        response.status_code,
        _read_json(response) if is_json else None,
        reason=response.reason,
        instance=call.address.partition("?")[0],
    )
    error.retry_after_s = read_retry_after(response.headers.get("Retry-After"))
    return error


def _read_json(response: Response) -> Any:
    if "json" not in response.headers.get("Content-Type", ""):
        raise AnswerError(f"{response.url} answers no JSON: is this the address of evalsite?")
    try:
        return response.json()
    except requests.JSONDecodeError as error:
        raise AnswerError(f"{response.url} answers no valid JSON: {error}") from error


def _make_key_header(key: str | None) -> dict[str, str]:
    # requests would refuse such a key too, but as a header, without saying which value it was.
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key and key):
        raise InputError("key", f"visible ASCII characters are taken, got {key!r:.80}")
    return {"Idempotency-Key": uuid4().hex if key is None else key}


def _encode_body(body: Any) -> bytes:
    """Return a body as JSON; none as an empty object. Raises InputError."""
    try:
        # NaN is no JSON, though Python writes it.
        return json.dumps(body or {}, default=_encode_value, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise _name_unsent(body) or InputError("body", f"it cannot be sent: {error}") from error


def _name_unsent(body: Any) -> InputError | None:
    """Return which member of a body is no JSON."""
    for name, value in body.items() if isinstance(body, Mapping) else ():
        try:
            json.dumps(value, default=_encode_value, allow_nan=False)
        except (TypeError, ValueError) as error:
            return InputError(str(name), f"{value!r:.80} cannot be sent: {error}")
    return None


def _encode_value(value: Any) -> Any:
    """Return what JSON has for a value that it has not."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping | Sequence):
        return dict(value) if isinstance(value, Mapping) else list(value)
    raise TypeError(f"{value!r:.80} is of no type that JSON has")
