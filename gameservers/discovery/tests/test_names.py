"""Servers by address: a list, and all addresses of a name."""

from collections.abc import Sequence

import pytest

from arena.addresses import read_address
from gameservers.discovery.names import DnsName, ServerList, look_up_host
from gameservers.discovery.sightings import Kind, LookError, shorten


async def look_up(host: str) -> Sequence[str]:
    return {"games": ["10.1.0.2", "10.1.0.1", "fd00::1", "10.1.0.1"]}[host]


async def test_a_list_is_what_was_written() -> None:
    servers = (await ServerList(["sim:1", "10.1.0.1:2"]).look()).servers
    assert [(each.name, each.address) for each in servers] == [
        ("sim:1", "sim:1"),
        ("10.1.0.1:2", "10.1.0.1:2"),
    ]


async def test_a_name_stands_for_a_server_at_each_of_its_addresses() -> None:
    source = DnsName(read_address("wss://games:81/x"), look_up=look_up)
    servers = (await source.look()).servers
    assert [each.address for each in servers] == [
        "wss://10.1.0.1:81/x",
        "wss://10.1.0.2:81/x",
        "wss://[fd00::1]:81/x",
    ]
    assert {(each.name, each.host, each.kind) for each in servers} == {("games", "games", Kind.DNS)}


async def test_this_machine_is_found_and_a_name_that_cannot_be_is_refused() -> None:
    assert "127.0.0.1" in await look_up_host("localhost")
    with pytest.raises(LookError, match=r"no-such-name\.invalid cannot be looked up"):
        await look_up_host("no-such-name.invalid")


def test_what_others_write_is_shown_on_one_line() -> None:
    assert shorten("") == ""
    assert shorten("one\ntwo") == "one..."
    assert shorten("a\x1b[31mb") == "a?[31mb"
    assert len(shorten("x" * 10_000)) == 200
