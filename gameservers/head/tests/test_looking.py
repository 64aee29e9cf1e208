import json
from collections.abc import Callable

import pytest

from gameservers.head.looking import LookError, look_at_server
from gameservers.head.tests.running import free_port, hello, running_head, serving


async def test_a_game_server_says_who_it_is() -> None:
    with serving(lambda: json.dumps([hello()])) as address:
        assert (await look_at_server(address)).name == "sim-1"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps([{"kind": "error", "reason": "stopping"}]), "refuses us: stopping"),
        ("[]", "says no hello"),
        ("<html>", "says no hello: no frame"),
        (json.dumps([{"kind": "state", "episode": 1, "step": 0, "seat": 0}]), "must be one"),
        ("x" * (5 << 20), "broke the line"),
        (None, "says nothing within 0.2 s"),
    ],
)
async def test_what_is_no_game_server_is_told_by_what_it_says(
    text: str | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is None:
        monkeypatch.setattr("gameservers.head.looking.LOOK_S", 0.2)
    with serving(lambda: text) as address, pytest.raises(LookError, match=reason):
        await look_at_server(address)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (lambda: f"ws://127.0.0.1:{free_port()}", "is the server running"),
        (lambda: "http://127.0.0.1:80", "no address of a WebSocket"),
    ],
)
async def test_an_address_where_nobody_is_says_what_to_check(
    address: Callable[[], str], reason: str
) -> None:
    with pytest.raises(LookError, match=reason):
        await look_at_server(address())


async def test_another_web_server_is_no_game_server() -> None:
    refusal = pytest.raises(LookError, match="is no game server, it answers otherwise")
    with running_head() as other, refusal:
        await look_at_server(f"{other.ws}/health")
