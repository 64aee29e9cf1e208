"""Nodes that come and go, told to real servers."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings
from redis import Redis
from redis.exceptions import AuthenticationError, RedisError

from arena.acl import ADMIN, SERVERS
from launcher.tests.guarded import KEY, Guarded, guarded_server
from matches.ledger import quarantine
from matches.models import Worker
from matches.nodes import node_keys, server_users
from matches.store.auditing import COMMAND_LINE
from matches.tests import factories

pytestmark = pytest.mark.django_db(transaction=True)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def servers(tmp_path: Path, settings: Settings) -> Iterator[list[Guarded]]:
    """Run the servers with the users of programs only, and be control; give those of nodes."""
    with ExitStack() as running:
        every = [
            running.enter_context(guarded_server(tmp_path / name, name, nodes={}))
            for name in SERVERS
        ]
        settings.SECRET_KEY = KEY
        settings.EVALSITE_ADMIN_URLS = {each.server: each.role_url(ADMIN) for each in every}
        server_users._copied.clear()
        yield [each for each in every if each.server != "stream"]
        server_users._copied.clear()


def may_log_in(server: Guarded, name: str, *, generation: int = 1) -> bool:
    with Redis.from_url(server.node_url(name, generation=generation)) as node:
        try:
            return bool(node.ping())
        except AuthenticationError:
            return False


def copied(servers: list[Guarded], name: str, *, generation: int = 1) -> list[bool]:
    server_users.copy_users()
    return [may_log_in(server, name, generation=generation) for server in servers]


def add(name: str) -> None:
    node_keys.add_node(name, actor=COMMAND_LINE, now=NOW)


def test_a_node_that_is_added_may_log_in_and_one_that_is_revoked_may_not(
    servers: list[Guarded],
) -> None:
    assert copied(servers, "node-7") == [False, False]
    add("node-7")
    assert copied(servers, "node-7") == [True, True]
    node_keys.revoke_node("node-7", actor=COMMAND_LINE, now=NOW)
    assert copied(servers, "node-7") == [False, False]


def test_quarantine_ends_a_nodes_connections_and_release_lets_it_back(
    servers: list[Guarded],
) -> None:
    add("node-1")
    factories.alive(now=NOW)
    worker = Worker.objects.get(node="node-1")
    assert copied(servers, "node-1") == [True, True]
    connections = [server.node("node-1") for server in servers]
    assert all(connection.ping() for connection in connections)
    quarantine.quarantine_worker(worker, actor=COMMAND_LINE, reason="hostile", now=NOW)
    assert copied(servers, "node-1") == [False, False]
    for connection in connections:
        with pytest.raises(RedisError):
            connection.ping()
    quarantine.release_worker(worker, actor=COMMAND_LINE, reason="", now=NOW)
    assert copied(servers, "node-1") == [True, True]


def test_replaced_secrets_end_the_connections_made_with_the_old_ones(
    servers: list[Guarded],
) -> None:
    add("node-1")
    assert copied(servers, "node-1") == [True, True]
    old = servers[0].node("node-1")
    assert old.ping()
    node_keys.replace_secrets("node-1", actor=COMMAND_LINE, now=NOW)
    assert copied(servers, "node-1", generation=2) == [True, True]
    assert not may_log_in(servers[0], "node-1", generation=1)
    with pytest.raises(RedisError):
        old.ping()


def test_a_server_that_has_forgotten_all_is_told_again(servers: list[Guarded]) -> None:
    add("node-1")
    assert copied(servers, "node-1") == [True, True]
    admin = servers[0].admin()
    admin.acl_deluser("node-1", "evalsite-web")
    # As if it had started again: the run that was told is another one.
    server_users._copied["broker"] = server_users._Copied("before", {"node-1": 1})
    assert copied(servers, "node-1") == [True, True]
    with Redis.from_url(servers[0].role_url("web")) as web:
        assert web.ping()


def test_the_stream_is_told_of_programs_again_and_of_no_node(
    servers: list[Guarded], settings: Settings
) -> None:
    add("node-1")
    with Redis.from_url(settings.EVALSITE_ADMIN_URLS["stream"], decode_responses=True) as admin:
        before = set(admin.acl_users())
        admin.acl_deluser("evalsite-sink")
        server_users.copy_users()
        assert set(admin.acl_users()) == before


def test_users_of_others_on_a_shared_server_are_left_alone(servers: list[Guarded]) -> None:
    admin = servers[0].admin()
    admin.acl_setuser("node-exporter", enabled=True, nopass=True, commands=["+ping"])
    add("node-1")
    server_users.copy_users()
    assert "node-exporter" in admin.acl_users()


def test_a_server_that_is_away_holds_nothing_up(
    servers: list[Guarded], caplog: pytest.LogCaptureFixture, settings: Settings
) -> None:
    add("node-1")
    settings.EVALSITE_ADMIN_URLS = {
        **settings.EVALSITE_ADMIN_URLS,
        "broker": "redis://127.0.0.1:1/0",
    }
    server_users.copy_users()
    assert may_log_in(servers[1], "node-1")
    assert "users are not copied to the broker" in caplog.text
