"""A closed site (EVALSITE_PUBLIC_READ=0): every address there is, and every socket."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from django.utils.regex_helper import normalize
from redis import Redis

from evalsite.asgi import application
from evalsite.gate import OPEN
from live.routing import LOGIN_NEEDED, websocket_urlpatterns
from matches.tests import callers, factories

pytestmark = pytest.mark.django_db
REFUSED = {401, 403, 405}
LOGINS = ("/login/?next=", "/admin/login/?next=")


@pytest.fixture(autouse=True)
def _closed(settings: Any) -> None:
    settings.EVALSITE_PUBLIC_READ = False


def _patterns(places: Sequence[Any], before: str = "") -> Iterator[str]:
    """Yield the pattern of every address, as one regular expression."""
    for place in places:
        own = before + place.pattern.regex.pattern.removeprefix("^").removesuffix(r"\Z")
        if isinstance(place, URLResolver):
            yield from _patterns(place.url_patterns, own)
        else:
            assert isinstance(place, URLPattern)
            yield own


def _address(pattern: str) -> str:
    """Return an address that the pattern fits: each of its parts is 1."""
    text, names = normalize(pattern)[0]
    return "/" + text % dict.fromkeys(names, "1")


ADDRESSES = sorted({_address(pattern) for pattern in _patterns(get_resolver().url_patterns)})


def test_the_walk_meets_every_kind_of_address() -> None:
    met = {resolve(address).view_name for address in ADDRESSES}
    assert met >= {"home", "board", "campaign", "system", "node", "api-docs", "agent-list"} | set(
        OPEN
    )
    assert len(ADDRESSES) > 150


def test_a_stranger_reads_nothing_at_any_address(client: Client) -> None:
    answered = {}
    for address in ADDRESSES:
        answer = client.get(address)
        is_login = answer.status_code == 302 and answer["Location"].startswith(LOGINS)
        if not is_login and answer.status_code not in REFUSED:
            answered[resolve(address).view_name] = answer.status_code
    assert answered.keys() <= OPEN.keys(), answered
    assert answered["healthz"] == answered["login"] == answered["admin-login"] == 200


def test_pages_lead_to_the_login_and_the_api_says_401(client: Client) -> None:
    for address in ("/", "/leaderboards/", "/system/", "/health/", "/api/docs/"):
        assert client.get(address)["Location"] == f"/login/?next={address}"
    for address in ("/api/v1/agents/", "/api/schema/"):
        assert client.get(address).status_code == 401
    assert client.get("/metrics").status_code == 403
    assert client.post("/leaderboards/").status_code == 302
    assert set(client.get("/readyz").json()) == {"status"}


def test_files_of_this_site_itself_stay_open(client: Client) -> None:
    assert client.get("/static/evalsite/site.css").status_code == 200


def test_who_logs_in_reads_and_may_leave_again(client: Client, broker: Redis) -> None:
    User.objects.create_user("reader", password="correct horse")
    wrong = client.post("/login/", {"username": "reader", "password": "wrong"})
    assert "do not fit together" in wrong.content.decode()
    form = {"username": "reader", "password": "correct horse", "next": "/leaderboards/"}
    assert client.post("/login/", form)["Location"] == "/leaderboards/"
    for address in ("/leaderboards/", "/system/", "/metrics", "/api/v1/agents/", "/api/schema/"):
        assert client.get(address).status_code == 200
    assert "checks" in client.get("/readyz").json()
    assert "As reader." in client.get("/login/").content.decode()
    client.post("/logout/")
    assert client.get("/leaderboards/").status_code == 302


def test_a_token_opens_the_api_and_no_page(broker: Redis) -> None:
    reader = callers.with_token(callers.token("reader", callers.READER))
    assert reader.get("/api/v1/agents/").status_code == 200
    assert reader.get("/api/schema/").status_code == 200
    assert reader.get("/leaderboards/").status_code == 302


async def _first_messages(path: str, cookie: str = "") -> list[dict[str, Any]]:
    """Return the first two messages of a socket."""
    headers = [(b"origin", b"http://localhost"), (b"cookie", cookie.encode())]
    scope = {"type": "websocket", "path": path, "headers": headers, "query_string": b""}
    communicator: Any = ApplicationCommunicator
    viewer = communicator(application, scope)
    await viewer.send_input({"type": "websocket.connect"})
    messages = [dict(await viewer.receive_output(timeout=3)) for _ in range(2)]
    await viewer.send_input({"type": "websocket.disconnect", "code": 1000})
    await viewer.wait(timeout=3)
    return messages


@pytest.mark.django_db(transaction=True)
async def test_every_socket_closes_on_a_stranger_and_opens_to_a_reader(broker: Redis) -> None:
    await database_sync_to_async(factories.planned)()
    user = await database_sync_to_async(callers.user)("reader")
    client = Client()
    await database_sync_to_async(client.force_login)(user)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    for route in websocket_urlpatterns:
        text, names = normalize(route.pattern.regex.pattern.removesuffix("$"))[0]
        path = "/" + text % dict.fromkeys(names, "board")
        accepted, closed = await _first_messages(path)
        assert (accepted["type"], closed.get("code")) == ("websocket.accept", LOGIN_NEEDED), path
        _, message = await _first_messages(path, cookie)
        assert message["type"] == "websocket.send", path
