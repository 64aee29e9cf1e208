"""What the registry makes of its sources: found, healthy, unreachable, gone, and why."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from arena.addresses import read_networks
from gameservers.discovery import registry as registries
from gameservers.discovery.merging import Answer, Place
from gameservers.discovery.registry import Registry, Server
from gameservers.discovery.sightings import Kind, LookError, Sighting, SourceView, State

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class FakeSource:
    def __init__(self, name: str, *servers: Sighting) -> None:
        self.name, self.servers = name, servers
        self.error: Exception | None = None
        self.hangs = False
        self.n_looks = 0

    async def look(self) -> SourceView:
        self.n_looks += 1
        if self.hangs:
            await asyncio.sleep(3600)
        if self.error:
            raise self.error
        return SourceView(self.servers)


class World:
    """A registry with its clock, its names and the servers that answer."""

    def __init__(self, *sources: FakeSource, networks: str = "10.1.0.0/16") -> None:
        self.now = NOW
        self.ips: dict[str, list[str]] = {}
        self.refusals: dict[str, str] = {}
        self.tried: list[Place] = []
        self.looked_up: list[str] = []
        self.registry = Registry(
            sources,
            networks=read_networks(networks),
            look_up=self.look_up,
            probe=self.probe,
            clock=lambda: self.now,
        )

    async def look_up(self, host: str) -> Sequence[str]:
        self.looked_up.append(host)
        if host == "slow":
            await asyncio.sleep(3600)
        if host not in self.ips:
            raise LookError(f"the name {host} cannot be looked up: unknown")
        return self.ips[host]

    async def probe(self, place: Place) -> Answer:
        self.tried.append(place)
        if place.address.host == "10.1.9.9":
            await asyncio.sleep(3600)
        return Answer(self.refusals.get(place.key, ""), game="nim", slots=8)

    async def refresh(self, *, after_s: float = 15) -> dict[str, Server]:
        self.now += timedelta(seconds=after_s)
        await self.registry.refresh()
        return self.servers()

    def servers(self) -> dict[str, Server]:
        return {each.name: each for each in self.registry.servers()}


def at(name: str, address: str) -> Sighting:
    return Sighting(name, Kind.LIST, address)


async def test_a_server_that_answers_is_healthy_at_the_ip_address_that_was_looked_up() -> None:
    world = World(FakeSource("list", at("sim", "sim.example:8081")))
    world.ips["sim.example"] = ["10.1.0.7"]
    server = (await world.refresh())["sim"]
    assert (server.state, server.reason, server.game, server.slots) == (State.HEALTHY, "", "nim", 8)
    assert (server.ip, server.url, server.host) == (
        *("10.1.0.7", "ws://10.1.0.7:8081/"),
        "sim.example",
    )
    assert world.looked_up == ["sim.example"]


async def test_a_name_that_leads_elsewhere_the_next_time_is_refused_then() -> None:
    world = World(FakeSource("list", at("sim", "sim.example:8081")))
    world.ips["sim.example"] = ["10.1.0.7"]
    await world.refresh()
    world.ips["sim.example"] = ["127.0.0.1"]
    server = (await world.refresh())["sim"]
    assert server.state is State.UNREACHABLE
    assert "127.0.0.1 is outside EVALSITE_SERVER_NETWORKS (10.1.0.0/16)" in server.reason
    assert {str(place.ip) for place in world.tried} == {"10.1.0.7"}


async def test_a_server_that_refuses_and_one_that_is_silent_are_unreachable_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registries, "PROBE_PART", 0.002)
    world = World(FakeSource("list", at("sim", "10.1.0.1:1"), at("mute", "10.1.9.9:1")))
    world.refusals["10.1.0.1:1"] = "is no game server"
    servers = await world.refresh()
    assert servers["sim"].reason == "is no game server"
    assert servers["mute"].reason == "has not answered within 0.03 s"
    assert {each.state for each in servers.values()} == {State.UNREACHABLE}


async def test_the_time_of_a_state_is_that_of_its_change() -> None:
    world = World(FakeSource("list", at("sim", "10.1.0.1:1")))
    first = (await world.refresh())["sim"]
    second = (await world.refresh())["sim"]
    world.refusals["10.1.0.1:1"] = "full"
    third = (await world.refresh())["sim"]
    assert [each.since - NOW for each in (first, second, third)] == [
        timedelta(seconds=seconds) for seconds in (15, 15, 45)
    ]
    assert second.seen_at - NOW == timedelta(seconds=30)


async def test_what_no_source_names_any_more_is_gone_shown_for_a_while_and_then_forgotten() -> None:
    source = FakeSource("list", at("sim", "10.1.0.1:1"))
    world = World(source)
    await world.refresh()
    source.servers = ()
    gone = (await world.refresh())["sim"]
    assert (gone.state, gone.reason) == (State.GONE, "no longer named by list")
    assert (await world.refresh(after_s=590))["sim"].since == gone.since
    assert await world.refresh(after_s=20) == {}


async def test_what_was_gone_and_is_named_again_is_tried_again() -> None:
    source = FakeSource("list", at("sim", "10.1.0.1:1"))
    world = World(source)
    await world.refresh()
    servers, source.servers = source.servers, ()
    await world.refresh()
    source.servers = servers
    assert (await world.refresh())["sim"].state is State.HEALTHY


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_a_source_that_cannot_be_asked_says_why_and_its_servers_are_tried_on(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registries, "LOOK_PART", 0.002)
    source = FakeSource("dns sim:1", at("sim", "10.1.0.1:1"))
    world = World(source)
    await world.refresh()
    source.hangs, source.error = how == "hangs", LookError("the name is unknown\nat all")
    server = (await world.refresh())["sim"]
    (state,) = world.registry.sources()
    expected = {"fails": "the name is unknown...", "hangs": "has not ended within 0.03 s"}
    assert (state.failure, state.at) == (expected[how], world.now)
    assert server.state is State.HEALTHY
    assert server.seen_at - NOW == timedelta(seconds=15)
    source.hangs, source.error = False, None
    await world.refresh()
    assert world.registry.sources()[0].failure == ""


async def test_a_mistake_of_ours_in_a_source_is_not_hidden() -> None:
    source = FakeSource("list")
    source.error = KeyError("a mistake")
    with pytest.raises(KeyError):
        await World(source).refresh()


async def test_two_sources_that_name_one_address_see_one_server() -> None:
    world = World(
        FakeSource("skypilot clusters", Sighting("game-1", Kind.CLUSTER, "http://10.1.0.1:8081")),
        FakeSource("list", at("sim.example:8081", "sim.example:8081")),
    )
    world.ips["sim.example"] = ["10.1.0.1"]
    (server,) = (await world.refresh()).values()
    assert (server.name, server.sources) == ("game-1", ("skypilot clusters", "list"))
    assert len(world.tried) == 1


async def test_a_cluster_without_an_endpoint_that_has_dialled_in_is_one_healthy_server() -> None:
    cluster = Sighting("game-1", Kind.CLUSTER, reason="no endpoint", state=State.UNREACHABLE)
    world = World(FakeSource("skypilot clusters", cluster))
    world.registry.report_dialled("game-1", game="nim", slots=4)
    (server,) = (await world.refresh()).values()
    assert (server.state, server.is_dialled, server.slots) == (State.HEALTHY, True, 4)
    world.registry.report_hung_up("game-1", "silent for 10 s")
    server = world.servers()["game-1"]
    assert (server.state, server.reason) == (State.UNREACHABLE, "no endpoint")


async def test_a_server_that_hangs_up_is_gone_with_the_reason_of_the_head() -> None:
    world = World()
    world.registry.report_dialled("sim-1")
    assert world.servers()["sim-1"].state is State.HEALTHY
    world.registry.report_hung_up("sim-1", "silent for 10 s")
    world.registry.report_hung_up("sim-1", "twice")
    gone = world.servers()["sim-1"]
    assert (gone.state, gone.reason) == (State.GONE, "silent for 10 s")
    world.registry.report_dialled("sim-1")
    assert world.servers()["sim-1"].state is State.HEALTHY


async def test_a_name_of_several_addresses_is_a_server_at_each_and_each_goes_alone() -> None:
    source = FakeSource("dns game:1", at("game", "10.1.0.1:1"), at("game", "10.1.0.2:1"))
    world = World(source)
    await world.refresh()
    source.servers = source.servers[1:]
    await world.refresh()
    states = {each.address: each.state for each in world.registry.servers()}
    assert states == {"10.1.0.1:1": State.GONE, "10.1.0.2:1": State.HEALTHY}


async def test_a_cluster_that_gets_its_endpoint_is_the_same_server() -> None:
    source = FakeSource("skypilot clusters", Sighting("game-1", Kind.CLUSTER, state=State.FOUND))
    world = World(source)
    assert (await world.refresh())["game-1"].state is State.FOUND
    source.servers = (Sighting("game-1", Kind.CLUSTER, "10.1.0.1:1"),)
    await world.refresh()
    assert [each.state for each in world.registry.servers()] == [State.HEALTHY]


async def test_a_service_is_not_tried_but_its_address_is_judged() -> None:
    inside = Sighting("svc-1", Kind.SERVICE, "10.1.0.1:1", "a balancer", State.HEALTHY)
    outside = Sighting("svc-2", Kind.SERVICE, "169.254.169.254:1", "a balancer", State.HEALTHY)
    world = World(FakeSource("skypilot services", inside, outside))
    servers = await world.refresh()
    assert (servers["svc-1"].state, servers["svc-1"].reason) == (State.HEALTHY, "a balancer")
    assert servers["svc-2"].state is State.UNREACHABLE
    assert world.tried == []


async def test_a_name_that_nobody_looks_up_in_time_is_a_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registries, "LOOK_UP_PART", 0.002)
    world = World(FakeSource("list", at("a", "slow:1"), at("b", "unknown:1")))
    servers = await world.refresh()
    assert servers["a"].reason == "the name slow is not looked up in time: see its DNS"
    assert servers["b"].reason == "the name unknown cannot be looked up: unknown"


async def test_without_a_probe_servers_stay_found_for_the_caller_to_try() -> None:
    source = FakeSource("list", at("sim", "10.1.0.1:1"), at("far", "8.8.8.8:1"))
    registry = Registry(
        [source],
        networks=read_networks("10.1.0.0/16"),
        look_up=World().look_up,
        probe=None,
        clock=lambda: NOW,
    )
    await registry.refresh()
    states = {each.name: each.state for each in registry.servers()}
    assert states == {"sim": State.FOUND, "far": State.UNREACHABLE}


async def test_calls_during_a_round_wait_for_it_and_start_none() -> None:
    source = FakeSource("list", at("sim", "10.1.0.1:1"))
    world = World(source)
    await asyncio.gather(*(world.registry.refresh() for _ in range(5)))
    assert source.n_looks == 1
    await world.registry.refresh()
    assert source.n_looks == 2


async def test_what_a_broken_source_invents_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registries, "MAX_SERVERS", 3)
    source = FakeSource("list", *(at(f"sim-{n}", f"10.1.0.{n}:1") for n in range(1, 6)))
    world = World(source)
    assert len(await world.refresh()) == 3
    (state,) = world.registry.sources()
    assert state.problems == ("2 servers more than the 3 that are kept",)
