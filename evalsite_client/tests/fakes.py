"""A server that answers what a test says, and a clock that moves only when somebody sleeps."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import BaseAdapter
from requests.exceptions import ConnectionError as Broken

from evalsite_client import Client, Clock, Retries

BASE = "http://evalsite.test"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class FakeTime:
    """Seconds since the beginning; sleeping adds to them."""

    now_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds

    def clock(self) -> Clock:
        return Clock(
            monotonic=lambda: self.now_s,
            sleep=self.sleep,
        )


@dataclass(frozen=True)
class Seen:
    """A request as it arrived."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes


Answering = Callable[[Seen], Response]


class FakeServer(BaseAdapter):
    """Answers every request by a function, and keeps what it saw."""

    def __init__(self, answering: Answering) -> None:
        super().__init__()
        self.answering = answering
        self.requests: list[Seen] = []

    def send(self, request: PreparedRequest, *_args: Any, **_options: Any) -> Response:
        assert request.method is not None
        assert request.url is not None
        headers = {name: str(text) for name, text in request.headers.items()}
        seen_request = Seen(request.method, request.url, headers, _body(request.body))
        self.requests.append(seen_request)
        response = self.answering(seen_request)
        response.url, response.request = request.url, request
        return response

    def close(self) -> None:
        pass


def client(
    answering: Answering,
    *,
    time: FakeTime | None = None,
    retries: Retries | None = None,
    token: str = "",
) -> tuple[Client, FakeServer]:
    """Return a client of a fake server, and the server."""
    server, session = FakeServer(answering), Session()
    session.mount("http://", server)
    clock = (time or FakeTime()).clock()
    return Client(BASE, token, retries=retries, clock=clock, session=session), server


def answer(value: Any = None, status: int = 200, *, reason: str = "", **headers: str) -> Response:
    """Return a response with JSON, without a body for None."""
    response = Response()
    response.status_code, response.reason = status, reason
    response.headers.update({name.replace("_", "-"): text for name, text in headers.items()})
    body = b"" if value is None else json.dumps(value).encode()
    if value is not None:
        response.headers.setdefault("Content-Type", "application/json")
    response.raw = BytesIO(body)
    return response


def raw(content: bytes, status: int = 200, kind: str = "application/octet-stream") -> Response:
    """Return a response with bytes."""
    response = answer(None, status, Content_Type=kind)
    response.raw = BytesIO(content)
    return response


def problem(status: int, detail: str = "no", errors: Any = (), **headers: str) -> Response:
    """Return a problem as the server sends it."""
    body = {
        "type": "about:blank",
        "title": "No",
        "status": status,
        "detail": detail,
        "instance": "/api/v1/x/",
        "errors": list(errors),
    }
    return answer(body, status, Content_Type="application/problem+json", **headers)


def broken() -> Response:
    """Break the connection."""
    raise Broken("connection reset")


def in_turn(*answers: Callable[[], Response]) -> Answering:
    """Return a function that gives one answer after the other."""
    left: Iterator[Callable[[], Response]] = iter(answers)
    return lambda _: next(left)()


def _body(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode()
    return body if isinstance(body, bytes) else b"".join(body)
