"""Which sources the environment names, and what it may not name."""

import pytest

from arena.addresses import AddressError
from gameservers.discovery.settings import build_registry
from gameservers.errors import SettingsError

SKYPILOT = {"SKYPILOT_API_SERVER_ENDPOINT": "http://api:46580", "GAME_SERVER_PREFIX": "game"}


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, []),
        ({"EVALSITE_GAME_SERVERS": ""}, []),
        ({"EVALSITE_GAME_SERVERS": "127.0.0.1:8081, sim:8082,sim:8082"}, ["list"]),
        ({"EVALSITE_GAME_SERVERS_DNS": "games:8081"}, ["dns games:8081"]),
        (SKYPILOT, ["skypilot clusters", "skypilot services"]),
    ],
)
def test_the_environment_names_the_sources(environ: dict[str, str], names: list[str]) -> None:
    assert [each.name for each in build_registry(environ).sources()] == names


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"EVALSITE_GAME_SERVERS": "sim"}, "EVALSITE_GAME_SERVERS: 'sim' is no address"),
        (
            {"EVALSITE_GAME_SERVERS_DNS": "2130706433:1"},
            "EVALSITE_GAME_SERVERS_DNS: '2130706433:1'",
        ),
        ({"EVALSITE_SERVER_NETWORKS": "all"}, "EVALSITE_SERVER_NETWORKS: 'all' is no network"),
    ],
)
def test_what_is_no_address_is_refused_at_the_start(environ: dict[str, str], reason: str) -> None:
    with pytest.raises(AddressError, match=reason):
        build_registry(environ)


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"GAME_SERVER_PREFIX": " "}, "GAME_SERVER_PREFIX is ' ': must be the beginning"),
        ({"GAME_SERVER_PORT": "0"}, "GAME_SERVER_PORT is '0': must be a port"),
        ({"SKYPILOT_API_SERVER_ENDPOINT": "api"}, "SKYPILOT_API_SERVER_ENDPOINT is"),
    ],
)
def test_what_skypilot_cannot_be_asked_with_is_refused_at_the_start(
    own: dict[str, str], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        build_registry({**SKYPILOT, **own})
