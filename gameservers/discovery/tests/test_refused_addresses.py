"""Addresses that discovery must not connect to: 40 of them, and no connection is made."""

import asyncio
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from arena.addresses import read_networks
from gameservers.discovery.probing import probe_server
from gameservers.discovery.registry import Registry
from gameservers.discovery.sightings import Kind, Sighting, SourceView, State

# What names lead to: the last one leads inside first and, asked again, to loopback.
NAMES = {
    "inside.example": ["127.0.0.1"],
    "half.example": ["10.1.0.1", "169.254.169.254"],
    "six.example": ["::1"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "localhost": ["127.0.0.1", "::1"],
    "nowhere.example": [],
}
REFUSED = (
    "127.0.0.1:8081",
    "ws://127.0.0.1:8081/",
    "http://127.1.2.3:8081",
    "https://127.0.0.1",
    "[::1]:8081",
    "ws://[0:0:0:0:0:0:0:1]:8081",
    "[::]:8081",
    "0.0.0.0:8081",
    "[::ffff:127.0.0.1]:8081",
    "[::ffff:7f00:1]:8081",
    "[::ffff:169.254.169.254]:80",
    "[::127.0.0.1]:8081",
    "[64:ff9b::7f00:1]:8081",
    "[2002:7f00:1::]:8081",
    "http://169.254.169.254/latest/meta-data/",
    "169.254.169.254:80",
    "[fd00:ec2::254]:80",
    "100.100.100.200:80",
    "[fe80::1]:8081",
    "[fe80::1%25lo]:8081",
    "169.254.1.1:8081",
    "2130706433:8081",
    "http://2130706433/",
    "0x7f000001:8081",
    "0177.0.0.1:8081",
    "127.1:8081",
    "0x7f.1:8081",
    "10.1.0.1.:8081",
    "http://10.1.0.1@127.0.0.1:8081",
    "http://127.0.0.1:8081#@10.1.0.1:8081",
    "http://10.1.0.1:8081\\@127.0.0.1",
    "192.168.1.1:8081",
    "10.2.0.1:8081",
    "8.8.8.8:8081",
    "255.255.255.255:8081",
    "224.0.0.1:8081",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_FLUSHALL",
    "\uff11\uff12\uff17.0.0.1:8081",
    "10.1.0.1:8081\r\nHost: evil",
    *(f"{name}:8081" for name in NAMES),
)


class FakeSource:
    name = "skypilot clusters"

    async def look(self) -> SourceView:
        return SourceView(tuple(Sighting(f"game {each!r}", Kind.CLUSTER, each) for each in REFUSED))


async def look_up(host: str) -> Sequence[str]:
    return NAMES[host]


@pytest.mark.parametrize("networks", ["10.1.0.0/16", "10.1.0.0/16,0.0.0.0/5"])
async def test_no_connection_is_made_to_any_of_forty_addresses(
    networks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[Any] = []

    async def note(*arguments: Any, **_: Any) -> None:
        connections.append(arguments)
        raise OSError("no connection may be made")

    loop = asyncio.get_running_loop()
    for name in ("create_connection", "sock_connect", "getaddrinfo"):
        monkeypatch.setattr(loop, name, note)
    monkeypatch.setattr(socket.socket, "connect", lambda *each: connections.append(each))
    registry = Registry(
        [FakeSource()],
        networks=read_networks(networks),
        look_up=look_up,
        probe=probe_server,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    await registry.refresh()
    servers = registry.servers()
    assert len(servers) == len(REFUSED) >= 40
    assert {each.state for each in servers} == {State.UNREACHABLE}
    assert all(each.reason.isprintable() and not each.ip for each in servers)
    assert connections == []


async def test_what_is_admitted_is_connected_to_so_that_the_test_above_can_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections: list[tuple[Any, ...]] = []

    async def note(*_: Any, host: str = "", port: int = 0, **__: Any) -> None:
        connections.append((host, port))
        raise OSError("no connection may be made")

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", note)
    monkeypatch.setitem(NAMES, "half.example", ["10.1.0.1"])
    registry = Registry(
        [FakeSource()],
        networks=read_networks("10.1.0.0/16"),
        look_up=look_up,
        probe=probe_server,
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
    )
    await registry.refresh()
    assert connections == [("10.1.0.1", 8081)]
