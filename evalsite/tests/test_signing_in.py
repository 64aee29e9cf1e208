"""The login, the corner that says who is in, and the pages of what went wrong."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client
from redis import Redis

from matches.store.clock import db_now
from matches.tests import factories

pytestmark = pytest.mark.django_db
HEADER = '<header class="site">'


@pytest.fixture
def reader(client: Client) -> Client:
    client.force_login(User.objects.create_user("reader", password="correct horse"))
    return client


def _log_in(client: Client, address: str, password: str = "correct horse") -> Any:
    User.objects.filter(username="ada").exists() or User.objects.create_superuser(
        "ada", password="correct horse"
    )
    return client.post(address, {"username": "ada", "password": password})


def test_every_page_says_that_nobody_is_logged_in_and_leads_back(client: Client) -> None:
    page = client.get("/leaderboards/?q=a&sort=name").content.decode()
    assert "Not logged in" in page
    assert 'href="/login/?next=%2Fleaderboards%2F%3Fq%3Da%26sort%3Dname"' in page


def test_every_page_says_who_is_logged_in_and_lets_out(reader: Client) -> None:
    page = reader.get("/leaderboards/").content.decode()
    assert 'Logged in as</span> <b title="reader">reader</b>' in page
    assert reader.post("/logout/", {"next": "/leaderboards/"})["Location"] == "/leaderboards/"
    assert "Not logged in" in reader.get("/leaderboards/").content.decode()


@pytest.mark.parametrize(
    ("address", "after"),
    [
        ("/admin/login/", "/admin/"),
        ("/admin/login/?next=/admin/matches/agent/", "/admin/matches/agent/"),
        ("/login/", "/"),
        ("/login/?next=/system/", "/system/"),
        ("/login/?next=https://elsewhere.example/", "/"),
    ],
)
def test_the_login_leads_back(client: Client, broker: Redis, address: str, after: str) -> None:
    assert client.get(address).status_code == 200
    answer = _log_in(client, address)
    assert answer["Location"] == after
    assert client.get(after).status_code == 200


def test_who_may_not_use_the_admin_is_told_so(reader: Client) -> None:
    answer = reader.get("/admin/", follow=True)
    assert "This account may not use the admin" in answer.content.decode()


def test_a_lockout_says_for_how_many_minutes(client: Client, broker: Redis) -> None:
    for _ in range(5):
        answer = _log_in(client, "/login/", "wrong")
    AccessAttempt.objects.update(attempt_time=db_now() - timedelta(minutes=8, seconds=30))
    answer = _log_in(client, "/login/")
    page = answer.content.decode()
    assert answer.status_code == 429
    assert "<b>7 minutes</b>" in page
    assert HEADER in page
    assert 360 < int(answer["Retry-After"]) <= 390


def test_a_refusal_says_who_one_is(client: Client) -> None:
    viewer = User.objects.create_user("viewer", password="look", is_staff=True)
    client.force_login(viewer)
    answer = client.get("/admin/matches/agent/")
    page = answer.content.decode()
    assert answer.status_code == 403
    assert HEADER in page
    assert "You are logged in as viewer" in page


def test_a_form_without_its_mark_is_refused_in_the_look_of_the_site() -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", {"username": "ada"})
    page = answer.content.decode()
    assert answer.status_code == 403
    assert HEADER in page
    assert "nothing was done" in page


def test_an_error_of_the_site_is_told_in_its_look(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("pages.boardpages.Leaderboard.objects", property(fail), raising=False)
    monkeypatch.setattr("pages.system.pushing.read_newest", fail)
    client.raise_request_exception = False
    answer = client.get("/system/")
    page = answer.content.decode()
    assert answer.status_code == 500
    assert HEADER in page
    assert "This site has made an error" in page
    assert "Not logged in" not in page


@pytest.mark.parametrize("may_manage", [True, False])
def test_a_page_leads_to_its_admin_and_back(
    client: Client, broker: Redis, may_manage: bool
) -> None:
    tournament = factories.planned()
    agent, match = tournament.agents.get(name="level:10"), tournament.matches.first()
    assert match is not None
    user = User.objects.create_user("ada", password="x", is_staff=True, is_superuser=may_manage)
    client.force_login(user)
    for public, admin in (
        (f"/tournaments/{tournament.pk}/", f"/admin/matches/tournament/{tournament.pk}/change/"),
        (f"/agents/{agent.pk}/", f"/admin/matches/agent/{agent.pk}/change/"),
        (f"/matches/{match.pk}/", f"/admin/matches/match/{match.pk}/change/"),
        (
            f"/leaderboards/{tournament.leaderboard.name}/",
            f"/admin/matches/leaderboard/{tournament.leaderboard_id}/change/",
        ),
    ):
        assert (f'href="{admin}"' in client.get(public).content.decode()) == may_manage, public
        if may_manage:
            assert f'href="{public}"' in client.get(admin).content.decode(), admin


def test_a_name_longer_than_any_account_has_is_not_written_down(client: Client) -> None:
    # PostgreSQL refuses it in the list of failed logins, which was an error for everybody to make.
    answer = client.post("/login/", {"username": "a" * 5_000, "password": "x"})
    assert "do not fit together" in answer.content.decode()
    assert not AccessAttempt.objects.exists()
