"""While the database is away everybody is told so, and why stands in the log alone."""

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import Client
from pytest_django.fixtures import Settings

from evalsite import health
from matches.store import away

pytestmark = pytest.mark.django_db
# Of the form of a token: any other is refused without asking the database.
STRANGE_TOKEN = {"authorization": f"Token {'ab' * 32}"}


@pytest.fixture
def visitor(client: Client, request: pytest.FixtureRequest) -> Client:
    """Return a browser that has logged in before the database went away."""
    client.force_login(get_user_model().objects.create_superuser("ann"))
    client.raise_request_exception = False
    request.getfixturevalue("database_away")
    return client


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("address", ["/", "/leaderboards/", "/system/", "/admin/", "/search/?q=a"])
def test_pages_say_it_without_the_database(
    visitor: Client,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    is_open: bool,
    address: str,
) -> None:
    settings.EVALSITE_PUBLIC_READ = is_open
    answer = visitor.get(address)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert "The database does not answer" in answer.content.decode()
    assert "10.0.0.7" not in answer.content.decode()
    assert "10.0.0.7" in caplog.text


@pytest.mark.parametrize("method", ["get", "post"])
def test_the_api_says_it_as_a_problem(visitor: Client, method: str) -> None:
    answer = getattr(visitor, method)("/api/v1/agents/", headers=STRANGE_TOKEN)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer["Content-Type"] == "application/problem+json"
    assert ("not known" in answer.json()["detail"]) == (method == "post")
    assert "10.0.0.7" not in answer.content.decode()


def test_uploads_say_it_too(visitor: Client) -> None:
    answer = visitor.post("/api/v1/experience/", b"{}", "application/json", headers=STRANGE_TOKEN)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json()["title"] == "Service Unavailable"


def test_the_health_of_the_site_can_be_looked_at(
    visitor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health._kept, "_until", 0.0)
    answer = visitor.get("/health/")
    assert answer.status_code == 200
    assert "does not answer" in answer.content.decode()


def test_a_fault_of_ours_is_one(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.raise_request_exception = False
    with connection.execute_wrapper(lambda *_: 1 / 0):
        answer = client.get("/leaderboards/")
    assert answer.status_code == 500
    assert "This site has made an error" in answer.content.decode()


def test_what_no_waiting_mends_is_not_away() -> None:
    with pytest.raises(DatabaseError) as caught, connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM nowhere")
    assert not away.is_away(caught.value)
    assert not away.is_away(ValueError())


def test_a_server_that_takes_no_connection_is_away() -> None:
    options = {**connection.settings_dict, "HOST": "127.0.0.1", "PORT": "1", "NAME": "x"}
    options |= {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {}, "USER": "x"}
    with pytest.raises(DatabaseError) as caught:
        DatabaseWrapper(options, "elsewhere").ensure_connection()
    assert away.is_away(caught.value)
