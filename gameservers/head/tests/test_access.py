from typing import Any

import pytest
from starlette.requests import HTTPConnection

from arena.credentials import is_node_name
from arena.passes import make_pass
from gameservers.head.access import AccessError, Door, find_pass, is_local
from gameservers.head.app import DISCOVER
from gameservers.head.evaluating import BUCKET
from gameservers.head.serving import ANY_SERVER

KEY, NOW = "5" * 64, 1_000.0


def made_connection(client: str = "127.0.0.1", query: str = "", **headers: str) -> HTTPConnection:
    """Return a request to a head that listens on port 8080."""
    named = {"host": "127.0.0.1:8080", **headers}
    scope: dict[str, Any] = {
        "type": "http",
        "client": (client, 1),
        "query_string": query.encode(),
        "headers": [(key.replace("_", "-").encode(), text.encode()) for key, text in named.items()],
    }
    return HTTPConnection(scope)


def test_what_comes_over_loopback_to_a_loopback_name_is_local() -> None:
    assert is_local(made_connection())
    assert is_local(made_connection("::1", host="[::1]:8080"))
    assert is_local(made_connection(host="localhost:8080", origin="http://localhost:8080"))


@pytest.mark.parametrize(
    "connection",
    [
        made_connection("10.0.0.7"),
        made_connection(host="head.example.org"),  # a name that was made to mean 127.0.0.1
        made_connection(origin="http://evil.example.org"),
        made_connection(origin="null"),
        made_connection(origin="http://127.0.0.1:9999"),
        made_connection(x_forwarded_for="10.0.0.7"),
        made_connection(forwarded="for=10.0.0.7"),
        made_connection(host=""),
        made_connection(host="["),
        made_connection(origin="http://["),
    ],
)
def test_what_may_come_from_elsewhere_is_not_local(connection: HTTPConnection) -> None:
    assert not is_local(connection)
    with pytest.raises(AccessError, match="a pass for discover is needed"):
        Door(KEY).require_pass(connection, "", "discover:", now=NOW)


def test_behind_a_proxy_that_says_nothing_of_its_callers_nobody_is_local() -> None:
    door, token = Door(KEY, is_behind_proxy=True), make_pass(KEY, "discover:", until=2_000)
    with pytest.raises(AccessError, match=r"needed behind a proxy \(EVALSITE_PROXIES\)"):
        door.require_pass(made_connection(), "", "discover:", now=NOW)
    door.require_pass(made_connection(), token, "discover:", now=NOW)


def test_a_pass_lets_its_holder_in_from_anywhere() -> None:
    token = make_pass(KEY, "serve:", until=2_000)
    far = made_connection("10.0.0.7", authorization=f"Bearer {token}")
    Door(KEY).require_pass(far, find_pass(far), "serve:sim-1", "serve:", now=NOW)
    connection = made_connection("10.0.0.7", query=f"token={token}")
    assert find_pass(connection) == token


@pytest.mark.parametrize("purpose", [ANY_SERVER, BUCKET, DISCOVER])
def test_the_pass_of_a_server_is_for_nothing_else_whatever_it_calls_itself(purpose: str) -> None:
    # A match sends the server that it is played on a pass for the name that this has given itself.
    for name in (purpose, purpose.removesuffix(":")):
        if is_node_name(name):
            token = make_pass(KEY, name, until=2_000)
            with pytest.raises(AccessError, match=f"a pass for {name}, not for"):
                Door(KEY).require_pass(made_connection(), token, purpose, now=NOW)
    assert not is_node_name(purpose)


@pytest.mark.parametrize(
    ("subject", "until", "key", "reason"),
    [
        ("serve:sim-2", 2_000, KEY, "a pass for serve:sim-2, not for serve:sim-1"),
        ("serve:sim-1", 900, KEY, "ended 100 s ago"),
        ("serve:sim-1", 2_000, "6" * 64, "not made here"),
        ("serve:sim-1", 2_000, "", "checks no passes"),
    ],
)
def test_a_wrong_pass_is_refused_even_on_this_machine(
    subject: str, until: int, key: str, reason: str
) -> None:
    token = make_pass(key or KEY, subject, until=until)
    door = Door(KEY if key else "")
    with pytest.raises(AccessError, match=reason):
        door.require_pass(made_connection(), token, "serve:sim-1", "serve:", now=NOW)
