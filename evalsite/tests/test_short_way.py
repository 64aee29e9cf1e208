"""The short way: the same views, measured and guarded, without the middleware of pages."""

from asyncio import gather
from threading import Barrier
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.signals import request_finished, request_started
from rest_framework.exceptions import NotAuthenticated

from evalsite.metrics import registry
from evalsite.short_way import ShortWay, divide_by_path
from experience.api.uploads import UploadView

ADDRESS = "/api/v1/experience/"


async def _ask(application: Any, path: str) -> tuple[int, dict[bytes, bytes], bytes]:
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }
    communicator: Any = ApplicationCommunicator  # it has no types
    line = communicator(application, scope)
    await line.send_input({"type": "http.request", "body": b"{}"})
    start = await line.receive_output(10)
    body = await line.receive_output(10)
    return start["status"], dict(start["headers"]), body["body"]


async def test_it_leads_to_the_view_with_length_and_policy() -> None:
    before = _count()
    status, headers, body = await _ask(ShortWay(), ADDRESS)
    assert status == 401
    assert headers[b"Content-Type"] == b"application/problem+json"
    assert headers[b"Content-Length"] == b"%d" % len(body)
    assert b"Content-Security-Policy" in headers
    assert _count() == before + 1


async def test_it_sends_no_signals_each_of_which_takes_a_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []
    for signal in (request_started, request_finished):
        monkeypatch.setattr(signal, "asend", lambda **terms: sent.append(terms))
        monkeypatch.setattr(signal, "send", lambda **terms: sent.append(terms))
    status, _, _ = await _ask(ShortWay(), ADDRESS)
    assert (status, sent) == (401, [])


async def test_no_request_waits_for_the_database_of_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both_ask = Barrier(2)

    def refuse(_: UploadView) -> int:
        both_ask.wait(10)
        raise NotAuthenticated

    monkeypatch.setattr(UploadView, "_check_caller", refuse)
    answers = await gather(*(_ask(ShortWay(), ADDRESS) for _ in range(2)))
    assert [status for status, _, _ in answers] == [401, 401]


async def test_an_upload_that_breaks_off_is_let_go() -> None:
    communicator: Any = ApplicationCommunicator
    line = communicator(ShortWay(), {"type": "http", "method": "POST", "path": ADDRESS})
    await line.send_input({"type": "http.disconnect"})
    await line.wait(10)
    assert await line.receive_nothing()


def _count() -> float:
    labels = {"method": "POST", "route": "api/v1/experience/", "status": "401"}
    # Of requests alone: to tell of the system the database may have to be asked.
    requests = registry.restricted_registry(["evalsite_http_request_seconds_count"])
    counts = (sample for metric in requests.collect() for sample in metric.samples)
    return sum(count.value for count in counts if count.labels == labels)


@pytest.mark.parametrize(("path", "answered"), [(ADDRESS, b"short"), ("/", b"long")])
async def test_only_its_addresses_go_by_it(path: str, answered: bytes) -> None:
    application = divide_by_path({ADDRESS: _say(b"short")}, otherwise=_say(b"long"))
    assert (await _ask(application, path))[2] == answered


def _say(word: bytes) -> Any:
    async def say(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": word})

    return say
