from io import StringIO

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client

pytestmark = pytest.mark.django_db


def test_the_process_says_that_it_lives(client: Client) -> None:
    reply = client.get("/healthz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


def test_the_schema_and_its_page_are_served(client: Client) -> None:
    assert client.get("/api/schema/").status_code == 200
    assert client.get("/api/docs/").status_code == 200


def test_a_foreign_host_name_is_refused(client: Client) -> None:
    assert client.get("/healthz", HTTP_HOST="evil.example").status_code == 400


def test_the_first_start_makes_one_admin_and_shows_its_password_once() -> None:
    first, second = StringIO(), StringIO()
    call_command("prepare", stdout=first)
    call_command("prepare", stdout=second)
    password = first.getvalue().split("password: ")[1].split()[0]
    assert get_user_model().objects.get(is_superuser=True).check_password(password)
    assert second.getvalue() == ""
