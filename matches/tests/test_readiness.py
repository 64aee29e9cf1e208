"""What is ready, what is not, and that nothing of what is told could be a secret."""

from collections.abc import Iterator
from datetime import datetime
from typing import NoReturn

import pytest
from django.db import OperationalError, connection
from django.db.utils import ConnectionHandler
from environ import Env
from pytest_django.fixtures import Settings
from redis import Redis

from matches import dispatch
from matches.models import RecorderMark
from matches.operations import readiness
from matches.operations.readiness import Check
from matches.operations.system import pushing
from matches.store import fast_store, stream_server
from matches.tests.factories import NOW, later

pytestmark = pytest.mark.django_db


def _run_checks(now: datetime = NOW) -> dict[str, Check]:
    return {check.name: check for check in readiness.run_checks(now=lambda: now)}


def test_everything_is_ready_when_control_has_ticked_and_the_recorder_keeps_up(
    broker: Redis,
) -> None:
    pushing.push_sample(now=NOW)
    RecorderMark.objects.create(pk=1, marked_at=NOW)
    checks = _run_checks(later(2))
    assert list(checks) == [
        *("database", "migrations", "disk", "broker", "fast store", "control", "recorder"),
        "plug-ins",
    ]
    assert all(check.is_ok for check in checks.values()), checks
    assert checks["control"].detail == "ticked 2 s ago"
    assert checks["recorder"].detail == "2.0 s behind"


def test_a_database_that_may_only_be_read_is_named(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Env.db_url_config(postgres_url)
    config["OPTIONS"] |= {"options": "-c default_transaction_read_only=on"}
    read_only = ConnectionHandler({"default": config})["default"]
    monkeypatch.setattr(readiness, "connection", read_only)
    (database,) = readiness.run_checks(now=lambda: NOW)
    read_only.close()
    assert (database.is_ok, database.detail) == (False, "may only be read")


@pytest.fixture
def stream(broker: Redis, valkey_url: str, settings: Settings) -> Iterator[Redis]:
    """Give a stack whose experience lies on a real server."""
    settings.STREAM_REDIS_URL = valkey_url
    stream_server.get_client.cache_clear()
    yield broker
    broker.config_set("maxmemory", 0)
    stream_server.get_client.cache_clear()


def test_a_stream_tells_how_full_it_is_and_matches_go_on_without_it(stream: Redis) -> None:
    assert (check := _run_checks()["stream"]).is_ok
    assert check.detail.endswith("MB of memory used")
    used = stream.info("memory")["used_memory"]
    stream.config_set("maxmemory", used)
    check = _run_checks()["stream"]
    assert (check.is_ok, check.is_needed) == (False, False)
    assert check.detail.startswith("is full: ")
    assert "EVALSITE_STREAM_MB" in check.hint
    stream.config_set("maxmemory", 4 * used)
    assert (check := _run_checks()["stream"]).is_ok
    assert " of " in check.detail


def test_full_servers_are_named(broker: Redis) -> None:
    used = broker.info("memory")["used_memory"]
    broker.config_set("maxmemory", used)
    checks = _run_checks()
    broker.config_set("maxmemory", 0)
    for name in ("broker", "fast store"):
        assert checks[name].detail.startswith("is full: ")
        assert "give it more memory" in checks[name].hint


def test_a_server_that_drops_old_keys_is_never_full(broker: Redis) -> None:
    broker.config_set("maxmemory-policy", "allkeys-lru")
    broker.config_set("maxmemory", int(broker.info("memory")["used_memory"] * 1.04))
    check = _run_checks()["fast store"]
    broker.config_set("maxmemory", 0)
    broker.config_set("maxmemory-policy", "noeviction")
    assert check.is_ok, check.detail


def test_a_stream_that_is_away_is_named_without_its_address(settings: Settings) -> None:
    settings.STREAM_REDIS_URL = "redis://user:secret@127.0.0.1:1/0"
    stream_server.get_client.cache_clear()
    check = _run_checks()["stream"]
    stream_server.get_client.cache_clear()
    assert (check.detail, check.is_needed) == ("does not answer (ConnectionError)", False)


def test_what_never_came_is_told_apart_from_what_is_late(broker: Redis) -> None:
    checks = _run_checks()
    assert checks["control"].detail == "has not ticked yet"
    assert checks["recorder"].detail == "has recorded nothing yet"
    pushing.push_sample(now=NOW)
    RecorderMark.objects.create(pk=1, marked_at=NOW)
    checks = _run_checks(later(60))
    assert (checks["control"].is_ok, checks["control"].detail) == (False, "has not ticked for 60 s")
    assert (checks["recorder"].is_ok, checks["recorder"].detail) == (False, "is 60 s behind")
    assert "recorder.log" in checks["recorder"].hint


def test_a_look_of_somebody_else_is_no_tick_of_control(broker: Redis) -> None:
    pushing.push_sample(now=NOW)
    pushing.read_newest(now=later(60))
    assert not _run_checks(later(60))["control"].is_ok


def test_servers_that_are_away_are_named_without_their_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nobody = Redis.from_url("redis://user:secret@127.0.0.1:1/0")
    for module, name in ((fast_store, "get_client"), (dispatch, "get_broker")):
        monkeypatch.setattr(module, name, lambda: nobody)
    checks = _run_checks()
    assert [check.name for check in checks.values() if not check.is_ok] == [
        *("broker", "fast store", "control", "recorder")
    ]
    text = str(checks)
    assert "secret" not in text
    assert "127.0.0.1" not in text


def test_without_a_database_nothing_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> NoReturn:
        raise OperationalError("at db.example")

    monkeypatch.setattr(connection, "cursor", away)
    (check,) = readiness.run_checks(now=lambda: NOW)
    assert (check.name, check.detail) == ("database", "does not answer (OperationalError)")


def test_missing_migrations_are_counted_and_applied_ones_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Executor:
        missing: list[str] = ["one", "two"]

        def __init__(self, _: object) -> None:
            self.loader = self.graph = self

        def leaf_nodes(self) -> list[str]:
            return []

        def migration_plan(self, _: list[str]) -> list[str]:
            return self.missing

    monkeypatch.setattr(readiness, "MigrationExecutor", Executor)
    applied = readiness._MigrationCheck()
    for _ in range(2):
        with pytest.raises(readiness.NotReadyError, match="2 are not applied"):
            applied()
    Executor.missing = []
    assert applied() == "all are applied"
    Executor.missing = ["three"]
    assert applied() == "all are applied", "it is not read again"
