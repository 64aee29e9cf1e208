"""ETags, what caches are told, and how often a caller may ask."""

from typing import Any

import pytest
from django.test import Client
from redis import Redis

from matches.access import rate_counter
from matches.artifacts.agents import register_spelled_agent
from matches.models import Agent
from matches.tests import callers, factories

pytestmark = pytest.mark.django_db
AGENTS = "/api/v1/agents/"


@pytest.fixture(autouse=True)
def _fast_store_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget that the fast store was away in a test before."""
    monkeypatch.setattr(rate_counter._Store, "away_until_s", 0.0)


def _get(client: Client, address: str = AGENTS, **headers: str) -> Any:
    return client.get(address, headers=headers)


def test_what_has_not_changed_is_not_sent_again(client: Client, db: None) -> None:
    register_spelled_agent("random", game="chess")
    first = _get(client)
    again = _get(client, **{"if-none-match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]
    Agent.objects.update(is_retired=True)
    changed = _get(client, **{"if-none-match": first.headers["ETag"]})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != first.headers["ETag"]


def test_an_error_is_sent_again(client: Client, db: None) -> None:
    first = _get(client, f"{AGENTS}1/")
    again = _get(client, f"{AGENTS}1/", **{"if-none-match": first.headers.get("ETag", "*")})
    assert (again.status_code, again.content) == (404, first.content)


def test_the_methods_that_an_address_has_are_named(client: Client, db: None) -> None:
    assert client.put(AGENTS).headers["Allow"] == "GET, POST, HEAD"


def test_caches_ask_every_time_and_keep_callers_apart(client: Client, db: None) -> None:
    headers = _get(client).headers
    assert headers["Cache-Control"] == "no-cache"
    assert {"Authorization", "Cookie"} <= set(headers["Vary"].split(", "))


def test_json_is_answered_whatever_the_client_says_it_takes(client: Client, db: None) -> None:
    for accept in ("text/html", "image/png", "*/*", "nonsense"):
        response = _get(client, accept=accept)
        assert response.headers["Content-Type"] == "application/json"


def test_an_address_that_is_not_there_is_a_problem(client: Client, db: None) -> None:
    for address in ("/api/v1/nothing/", "/api/v1/agents/abc/", "/api/v1/agents"):
        for response in (client.get(address), client.post(address, {}, "application/json")):
            assert response.status_code == 404
            assert response.headers["Content-Type"] == "application/problem+json"
            problem = response.json()
            assert (problem["title"], problem["instance"]) == ("Not Found", address)
    assert "end with a slash" in problem["detail"]


@pytest.mark.parametrize("body", ['{"name": "\\ud800"}', "[" * 100_000, '{"a": NaN}', "\xff"])
def test_a_body_that_no_database_takes_is_refused(admin_client: Client, body: str) -> None:
    response = admin_client.post(AGENTS, body.encode("latin-1"), content_type="application/json")
    assert response.status_code == 400
    assert "JSON parse error" in response.json()["detail"]


def test_text_within_parameters_has_no_nul(admin_client: Client) -> None:
    body = {"name": "a", "game": "chess", "policy": "random", "parameters": {"x": ["\x00"]}}
    response = admin_client.post(AGENTS, body, content_type="application/json")
    assert response.json()["errors"][0]["field"] == "parameters"
    assert "NUL" in response.json()["errors"][0]["message"]


# Throttling


@pytest.fixture
def _slow(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EVALSITE_USER_RATE, settings.EVALSITE_ANONYMOUS_RATE = 3, 2
    monkeypatch.setattr(rate_counter, "clock", lambda: 1_000_000_030.0)


@pytest.mark.usefixtures("_slow")
def test_who_asks_too_often_is_told_for_how_long_to_wait(client: Client, broker: Redis) -> None:
    assert [_get(client).status_code for _ in range(3)] == [200, 200, 429]
    refused = _get(client)
    assert refused.headers["Retry-After"] == "50"
    assert refused.json()["title"] == "Too Many Requests"


@pytest.mark.usefixtures("_slow")
def test_users_are_counted_apart_from_their_address(client: Client, broker: Redis) -> None:
    for name in ("a", "b"):
        named = callers.with_token(callers.token(name, callers.READER))
        assert [_get(named).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert _get(client).status_code == 200


@pytest.mark.usefixtures("_slow")
def test_nobody_chooses_the_address_it_is_counted_by(client: Client, broker: Redis) -> None:
    answers = [_get(client, **{"x-forwarded-for": f"10.0.0.{n}"}).status_code for n in range(3)]
    assert answers == [200, 200, 429]


@pytest.mark.usefixtures("_slow")
def test_the_next_minute_counts_anew(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [_get(client).status_code for _ in range(3)][-1] == 429
    monkeypatch.setattr(rate_counter, "clock", lambda: 1_000_000_080.0)
    assert _get(client).status_code == 200


@pytest.mark.usefixtures("_slow")
def test_the_api_does_without_the_fast_store(client: Client, settings: Any, db: None) -> None:
    away = {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    settings.CACHES = {"default": away}
    assert [_get(client).status_code for _ in range(5)] == [200] * 5


def test_nobody_is_counted_where_the_limit_is_zero(
    client: Client, broker: Redis, settings: Any
) -> None:
    settings.EVALSITE_ANONYMOUS_RATE = 0
    factories.planned()
    assert {_get(client).status_code for _ in range(5)} == {200}
    assert not broker.keys("*throttle*")
