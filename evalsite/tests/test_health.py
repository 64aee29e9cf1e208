"""Answers for machines and people: alive, ready, and what to do."""

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries
from redis import Redis

from evalsite import health
from evalsite.health import ORPHANED, KeptChecks
from launcher.folders import MARK
from matches.models import RecorderMark
from matches.operations import readiness
from matches.operations.readiness import Check
from matches.operations.system import pushing
from matches.store.clock import db_now

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_kept", KeptChecks())


def test_a_process_that_answers_is_alive_whatever_else_is_away(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        reply = client.get("/healthz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})
    assert "no-store" in reply["Cache-Control"]


def test_a_process_whose_supervisor_is_gone_does_not_call_itself_well(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, "/data")
    assert client.get("/healthz").status_code == 200
    monkeypatch.setattr(health, "_STARTED_BY", 1_000_000_000)
    reply = client.get("/healthz")
    assert (reply.status_code, reply.json()) == (503, {"status": ORPHANED})
    assert client.get("/readyz").json()["checks"]["supervisor"]["is_ok"] is False


def test_a_system_whose_parts_answer_is_ready(client: Client, broker: Redis) -> None:
    pushing.push_sample(now=db_now())
    RecorderMark.objects.create(pk=1, marked_at=db_now())
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["status"]) == (200, "ready")
    assert reply.json()["checks"]["database"] == {
        "is_ok": True,
        "detail": f"{connection.vendor} answers",
        "hint": "",
    }
    assert "Ready" in client.get("/health/").content.decode()


def test_one_part_that_is_away_makes_it_503_and_people_read_what_to_do(
    client: Client, broker: Redis
) -> None:
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["status"]) == (503, "not ready")
    assert reply.json()["checks"]["control"]["is_ok"] is False
    page = client.get("/health/").content.decode()
    assert "Not ready" in page
    assert "var/log/control.log" in page


def test_a_database_that_is_away_is_told_on_the_page(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [Check("database", False, "does not answer (OperationalError)", "its log")]
    monkeypatch.setattr(readiness, "run_checks", lambda **_: checks)
    assert "does not answer (OperationalError)" in client.get("/health/").content.decode()


def test_staff_is_told_where_a_file_lies_and_others_are_not(
    client: Client, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [Check("plug-ins", False, "/srv/games/nim.py is broken")]
    monkeypatch.setattr(readiness, "run_checks", lambda **_: checks)
    assert "/srv/games/nim.py" in admin_client.get("/health/").content.decode()
    assert "/srv/games" not in client.get("/health/").content.decode()


def test_a_new_database_without_tables_is_told_to_who_has_a_cookie_of_the_one_before(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [Check("database", True, "answers"), Check("migrations", False, "9 to apply")]
    monkeypatch.setattr(readiness, "run_checks", lambda **_: checks)
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE django_session")
    assert admin_client.get("/readyz").json()["checks"]["migrations"]["detail"] == "9 to apply"
    assert "9 to apply" in admin_client.get("/health/").content.decode()


def test_the_checks_are_made_once_a_second_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def checks(**_: object) -> list[Check]:
        made.append(len(made))
        return []

    monkeypatch.setattr(readiness, "run_checks", checks)
    kept = KeptChecks()
    for now_s in (0.0, 0.5, 0.9, 1.0, 1.5):
        kept.run_checks(now_s=now_s)
    assert len(made) == 2
