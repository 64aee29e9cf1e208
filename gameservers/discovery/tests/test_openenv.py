"""Environments of OpenEnv: how an operator names them, and what is known before they are played."""

import json
from typing import Any

import pytest

from arena.addresses import AddressError, read_address
from arena.errors import UnknownNameError
from arena.games import registry as games
from arena.games.openenv.game import OpenEnvGame
from gameservers.discovery.openenv import (
    EnvironmentList,
    Target,
    greet_environment,
    name_server,
)
from gameservers.discovery.probing import probe_server
from gameservers.discovery.registry import Registry
from gameservers.discovery.settings import build_registry
from gameservers.discovery.sightings import Environment, LookError
from gameservers.discovery.transport import Call, Reply
from gameservers.errors import SettingsError
from gameservers.head.discovering import list_found

GAME = OpenEnvGame(
    "ladder",
    title="A ladder",
    action={"up": (False, True), "by": (1, 2)},
    observation={"height": 10, "metadata.left": 1},
    max_steps=3,
)
FIELDS = {"up": {"type": "boolean"}, "by": {"type": "integer"}, "metadata": {}}
SEEN: dict[str, Any] = {"height": {}, "metadata": {}, "done": {}}


def make_schema(**changed: Any) -> dict[str, Any]:
    action = {"properties": FIELDS, "required": ["up"], "additionalProperties": False}
    return {"action": action, "observation": {"properties": SEEN}, **changed}


def make_target(text: str = "ws://sim.example:8000/envs/a/ws") -> Target:
    return Target(Environment("ladder", 16), read_address(text), "10.0.0.7")


async def greet(body: Any, *, status: int = 200, target: Target | None = None) -> list[Call]:
    calls: list[Call] = []

    async def answer(call: Call) -> Reply:
        calls.append(call)
        return Reply(status, {}, body if isinstance(body, bytes) else json.dumps(body).encode())

    hello = await greet_environment(
        target or make_target(), ask=answer, find_game={"ladder": GAME}.__getitem__
    )
    assert (hello.game, hello.slots, hello.n_actions) == ("ladder", 16, 2)
    assert hello.observation_shape == [6]
    return calls


async def test_the_list_says_where_which_game_is_played_and_how_often_at_once() -> None:
    text = "ladder=sim:8000*16, other=wss://x.example/envs/b/ws,ladder=sim:8000*16,"
    look = await EnvironmentList(text).look()
    assert [(each.name, each.address, each.environment) for each in look.servers] == [
        ("ladder-sim-8000", "ws://sim:8000/ws", ("ladder", 16)),
        ("other-x.example-443-envs-b", "wss://x.example:443/envs/b/ws", ("other", 1)),
    ]


@pytest.mark.parametrize("text", ["sim:8000", "a=sim:8000*0", "a=sim:8000*x", "a b=sim:8000"])
def test_what_is_no_entry_of_the_list_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"EVALSITE_OPENENV_SERVERS is .* GAME=ADDRESS\*N"):
        EnvironmentList(text)


def test_a_refused_entry_does_not_repeat_a_password() -> None:
    with pytest.raises(SettingsError) as refused:
        EnvironmentList("a=wss://me:hid*den@sim:8000*0")
    assert "hid" not in str(refused.value)


def test_an_address_that_is_none_or_stands_twice_is_refused() -> None:
    with pytest.raises(AddressError, match="EVALSITE_OPENENV_SERVERS: 'sim'"):
        EnvironmentList("a=sim")
    with pytest.raises(SettingsError, match="each address once"):
        EnvironmentList("a=sim:8000,b=ws://sim:8000/ws")


async def test_it_is_asked_for_its_schema_at_the_ip_address_that_was_admitted() -> None:
    (call,) = await greet(make_schema())
    assert (call.url, call.ip) == ("http://sim.example:8000/envs/a/schema", "10.0.0.7")
    (call,) = await greet(make_schema(), target=make_target("wss://sim.example/ws"))
    assert call.url == "https://sim.example:443/schema"


@pytest.mark.parametrize(
    "schema",
    [
        {},
        make_schema(action={"oneOf": []}, observation=7),
        make_schema(action={"properties": {}, "additionalProperties": True}),
        make_schema(action={"properties": {}, "required": 7}),
    ],
)
async def test_a_schema_that_lists_no_fields_fits(schema: dict[str, Any]) -> None:
    assert await greet(schema)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (
            make_schema(action={"properties": {"up": {}, "far": {}}}),
            "does not fit the catalog file of ladder: its action has no by, but far, up",
        ),
        (
            make_schema(action={"properties": FIELDS, "required": ["metadata"]}),
            "its action needs metadata, too",
        ),
        (
            make_schema(observation={"properties": {"metadata": {}}}),
            "its observation has no height, but metadata",
        ),
        (b"<html>", "is no schema of OpenEnv"),
        (b"[" * 100_000, "is no schema of OpenEnv"),
    ],
)
async def test_spaces_that_do_not_fit_are_named(schema: Any, why: str) -> None:
    with pytest.raises(LookError, match=f"^http://sim.example:8000/envs/a/schema .*{why}"):
        await greet(schema)


async def test_of_names_that_somebody_else_wrote_only_the_beginning_is_shown() -> None:
    many = [str(number) for number in range(100_000)]
    for names in (["\x1b[31m" * 100_000], many):
        with pytest.raises(LookError) as refused:
            await greet(make_schema(action={"properties": dict.fromkeys(names)}))
        assert str(refused.value).isprintable()
        assert len(str(refused.value)) < 1_000


async def test_another_server_is_named() -> None:
    with pytest.raises(LookError, match="answers HTTP 404: it is no server of OpenEnv"):
        await greet(b"", status=404)


async def test_a_game_that_is_none_of_openenv_is_named() -> None:
    target = Target(Environment("chess", 1), read_address("sim:1"), "127.0.0.1")
    with pytest.raises(LookError, match="SERVERS: chess is no OpenEnvGame of the catalog"):
        await greet_environment(target)
    with pytest.raises(LookError, match="SERVERS: unknown game 'chss'"):
        await greet_environment(target._replace(environment=Environment("chss", 1)))
    with pytest.raises(UnknownNameError):
        games.get("chss")


async def test_environments_at_one_port_are_servers_of_their_own() -> None:
    registry: Registry = build_registry(
        {"EVALSITE_OPENENV_SERVERS": "a=127.0.0.1:1/envs/a,b=127.0.0.1:1/envs/b*3"}, probe=None
    )
    await registry.refresh()
    places = {each.address: each.place for each in list_found(registry.servers())}
    assert sorted(places) == ["ws://127.0.0.1:1/envs/a/ws", "ws://127.0.0.1:1/envs/b/ws"]
    place = places["ws://127.0.0.1:1/envs/b/ws"]
    assert place is not None
    assert place.environment == ("b", 3)
    assert "SERVERS: unknown game 'b'" in (await probe_server(place)).refusal


def test_the_same_game_at_two_paths_of_a_port_has_two_names() -> None:
    ladder = Environment("ladder", 1)
    texts = ("ws://sim:80/ws", "ws://sim:80/envs/a/ws", "ws://sim:80/envs/b/ws")
    names = [name_server(ladder, read_address(text)) for text in texts]
    assert names == ["ladder-sim-80", "ladder-sim-80-envs-a", "ladder-sim-80-envs-b"]
