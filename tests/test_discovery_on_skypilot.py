"""Discovery against the real API server of SkyPilot, offline: `./run tools install skypilot`.

Its state is filled through its own functions. The clusters are of a cloud whose endpoints SkyPilot
works out from the address of the machine; a price list of one line stands in for the one that it
would fetch. Services need a controller in a cloud: gameservers/discovery/tests has a stub for them.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack

import pytest
from websockets.asyncio.server import ServerConnection, serve

from gameservers.discovery.registry import Registry, Server
from gameservers.discovery.settings import build_registry
from gameservers.discovery.sightings import LookError, State
from gameservers.discovery.skypilot import QUESTION
from gameservers.discovery.skypilot_api import ApiServer
from gameservers.discovery.transport import ask
from launcher.addresses import Ports
from launcher.folders import ROOT
from launcher.tools import MissingToolError, find_tool

pytestmark = pytest.mark.long

START_S = 120.0
PRICES = (
    "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,"
    "AvailabilityZone,Price,SpotPrice\ncpu_4x_general,4,16,,,,us-east-1,,0.08,\n"
)
# Forty clusters of the prefix, four of which are starting; ten others.
FILL = """
import os, sys
from sky import clouds, global_user_state, resources
from sky.backends.cloud_vm_ray_backend import CloudVmRayResourceHandle

settings = os.path.expanduser("~/.sky/generated/cluster.yml")
os.makedirs(os.path.dirname(settings), exist_ok=True)
with open(settings, "w") as file:
    file.write("provider: {type: external, region: us-east-1}\\n")
for number in range(50):
    name = f"game-{number}" if number < 40 else f"other-{number}"
    of_cluster = resources.Resources(
        cloud=clouds.Lambda(), instance_type="cpu_4x_general", region="us-east-1",
        ports=[sys.argv[1]],
    )
    handle = CloudVmRayResourceHandle(
        cluster_name=name, cluster_name_on_cloud=name, cluster_yaml=settings, launched_nodes=1,
        launched_resources=of_cluster,
        stable_internal_external_ips=[("10.0.0.1", f"127.0.1.{number + 1}")],
        stable_ssh_ports=[22],
    )
    global_user_state.add_or_update_cluster(
        name, handle, {of_cluster}, ready=number % 10 != 9
    )
"""
HELLO = (
    '[{"kind":"hello","protocol":1,"name":"sim","game":"nim","rules_version":1,"slots":8,'
    '"n_seats":2,"n_actions":3,"observation_shape":[1],"observation_dtype":"float32"}]'
)


@pytest.fixture(scope="module")
def ports() -> tuple[int, int]:
    free = Ports.free()
    return free.web, free.flower


@pytest.fixture(scope="module")
def api_url(tmp_path_factory: pytest.TempPathFactory, ports: tuple[int, int]) -> Iterator[str]:
    try:
        tool = find_tool("skypilot", ROOT / "var")
    except MissingToolError as error:
        pytest.skip(str(error))
    home = tmp_path_factory.mktemp("home")
    prices = home / ".sky" / "catalogs" / "v8" / "lambda" / "vms.csv"
    prices.parent.mkdir(parents=True)
    prices.write_text(PRICES)
    environment = {
        "HOME": str(home),
        "PATH": f"{tool / 'bin'}:/usr/bin:/bin",
        "SKYPILOT_DISABLE_USAGE_COLLECTION": "1",
        "LANG": "C.UTF-8",
    }
    python, (api_port, server_port) = str(tool / "bin" / "python"), ports
    filled = subprocess.run(
        [python, "-c", FILL, str(server_port)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert filled.returncode == 0, filled.stderr
    command = [python, "-m", "sky.server.server", "--host", "127.0.0.1", "--port", str(api_port)]
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(
            command, cwd=home, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{api_port}"
        asyncio.run(await_answers(url))
        yield url
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)


async def await_answers(url: str) -> None:
    """Wait until it works on requests: it is healthy earlier, and busy with its own start."""
    until = time.monotonic() + START_S
    while True:
        try:
            await ApiServer(url, "", ask=ask).call("/status", QUESTION, limit_s=10)
        except LookError:
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.5)
        else:
            return


def build(url: str, ports: tuple[int, int], *, token: str = "") -> Registry:
    return build_registry(
        {
            "SKYPILOT_API_SERVER_ENDPOINT": url,
            "SKYPILOT_API_SERVER_SERVICE_ACCOUNT_TOKEN": token,
            "GAME_SERVER_PREFIX": "game",
            "GAME_SERVER_PORT": str(ports[1]),
        }
    )


def of_state(registry: Registry, state: State) -> list[Server]:
    return [each for each in registry.servers() if each.state is state]


async def test_forty_of_fifty_clusters_are_found_within_one_interval(
    api_url: str, ports: tuple[int, int]
) -> None:
    async def talk(line: ServerConnection) -> None:
        await line.recv()
        await line.send(HELLO)

    hosts = [f"127.0.1.{number + 1}" for number in range(30)]
    async with AsyncExitStack() as stack:
        for host in hosts:
            await stack.enter_async_context(serve(talk, host, ports[1]))
        registry = build(api_url, ports)
        began = time.monotonic()
        await registry.refresh()
        took_s = time.monotonic() - began
        servers = registry.servers()
        assert {each.name for each in servers} == {f"game-{number}" for number in range(40)}
        assert took_s < registry.interval_s
        n_first = len([each for each in servers if each.address])
        # Four are starting, of the others thirty answer; endpoints take the API server a while.
        while len([each for each in registry.servers() if each.address]) < 36:
            assert time.monotonic() - began < 180, registry.servers()
            await registry.refresh()
        all_s = time.monotonic() - began
        print(
            f"40 found in {took_s:.1f} s, {n_first} of them with an endpoint; "
            f"all 36 endpoints in {all_s:.1f} s",
            file=sys.__stderr__,
        )
    assert len(of_state(registry, State.HEALTHY)) == 27
    assert {each.reason for each in of_state(registry, State.FOUND)} == {"the cluster is INIT"}
    assert len(of_state(registry, State.UNREACHABLE)) == 9


async def test_without_a_cloud_services_are_a_reason_and_clusters_stand(
    api_url: str, ports: tuple[int, int]
) -> None:
    registry = build(api_url, ports)
    await registry.refresh()
    clusters, services = registry.sources()
    assert (clusters.failure, clusters.n_servers) == ("", 40)
    # Offline it says that; with a network, that no controller runs, which is no failure.
    assert services.failure.startswith("RuntimeError: Failed to refresh") or not services.failure


async def test_a_token_that_it_does_not_know_is_a_reason(
    api_url: str, ports: tuple[int, int]
) -> None:
    registry = build(api_url, ports, token="sky_expired")
    await registry.refresh()
    for source in registry.sources():
        assert "refuses the token (401: " in source.failure
    assert registry.servers() == []
