"""Clusters and services of a SkyPilot API server, and all that it may answer instead."""

import ast
import asyncio
import base64
import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import gameservers.discovery
from gameservers.discovery import skypilot
from gameservers.discovery.sightings import Kind, LookError, State
from gameservers.discovery.skypilot import Clusters, Services
from gameservers.discovery.skypilot_api import ApiServer
from gameservers.discovery.tests.fake_skypilot import FakeSkyPilot, cluster, pickled, service
from gameservers.discovery.transport import Call, Reply
from gameservers.errors import SettingsError

URL = "http://api:46580"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def fake() -> FakeSkyPilot:
    return FakeSkyPilot()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def clusters(fake: FakeSkyPilot, clock: Clock) -> Clusters:
    return Clusters(ApiServer(URL, "sky_abc", ask=fake), "game", port=8081, clock=clock)


@pytest.fixture
def services(fake: FakeSkyPilot) -> Services:
    return Services(ApiServer(URL, "sky_abc", ask=fake), "game")


async def test_it_returns_the_clusters_of_the_prefix_with_their_endpoints(
    fake: FakeSkyPilot, clusters: Clusters
) -> None:
    fake.clusters = [cluster(f"game-{n}" if n < 40 else f"other-{n}") for n in range(50)]
    fake.endpoints = {f"game-{n}": {"8081": f"10.1.0.{n}:8081"} for n in range(40)}
    look = await clusters.look()
    assert {each.name: each.address for each in look.servers} == {
        f"game-{n}": f"10.1.0.{n}:8081" for n in range(40)
    }
    assert look.problems == ()


async def test_it_asks_for_no_handle_and_no_credentials_and_shows_its_token(
    fake: FakeSkyPilot, clusters: Clusters
) -> None:
    await clusters.look()
    (arguments,) = fake.list_arguments("/status")
    assert not arguments["include_handle"]
    assert not arguments["include_credentials"]
    assert {call.headers["Authorization"] for call, _ in fake.calls} == {"Bearer sky_abc"}


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("INIT", State.FOUND),
        ("STOPPED", State.UNREACHABLE),
        ("AUTOSTOPPING", State.UNREACHABLE),
        ("a new word", State.UNREACHABLE),
    ],
)
async def test_a_cluster_that_is_not_up_is_shown_with_its_status(
    fake: FakeSkyPilot, clusters: Clusters, status: str, state: State
) -> None:
    fake.clusters = [cluster("game-1", status)]
    (server,) = (await clusters.look()).servers
    assert (server.state, server.reason) == (state, f"the cluster is {status}")
    assert fake.list_arguments("/endpoints") == []


async def test_an_endpoint_is_asked_for_once_until_its_cluster_is_launched_again(
    fake: FakeSkyPilot, clusters: Clusters, clock: Clock
) -> None:
    fake.clusters = [cluster("game-1")]
    fake.endpoints = {"game-1": {"8081": "10.1.0.1:8081"}}
    await clusters.look()
    clock.pass_s(15)
    fake.endpoints = {"game-1": {"8081": "10.1.0.2:8081"}}
    (before,) = (await clusters.look()).servers
    fake.clusters = [cluster("game-1", launched_at=1795549999)]
    (after,) = (await clusters.look()).servers
    assert [before.address, after.address] == ["10.1.0.1:8081", "10.1.0.2:8081"]


async def test_an_endpoint_that_failed_is_asked_for_less_and_less(
    fake: FakeSkyPilot, clusters: Clusters, clock: Clock
) -> None:
    fake.clusters = [cluster("game-1")]
    fake.failures = {"/endpoints game-1": ("ValueError", "Failed to load\nTraceback")}
    asked_at: list[int] = []
    for second in range(0, 600, 15):
        (server,) = (await clusters.look()).servers
        assert (server.state, server.address) == (State.UNREACHABLE, "")
        assert server.reason == "no endpoint: ValueError: Failed to load..."
        if len(fake.list_arguments("/endpoints")) > len(asked_at):
            asked_at.append(second)
        clock.pass_s(15)
    assert asked_at == [0, 15, 45, 105, 225, 465]


async def test_a_port_that_is_not_open_is_named_beside_those_that_are(
    fake: FakeSkyPilot, clusters: Clusters
) -> None:
    fake.clusters = [cluster("game-1")]
    fake.endpoints = {"game-1": {"80": "10.1.0.1:80", "22": "10.1.0.1:22"}}
    (server,) = (await clusters.look()).servers
    assert server.reason == "no endpoint: port 8081 is not open (open: 22, 80): see its `ports`"


async def test_endpoints_that_hang_hold_up_neither_the_list_nor_the_others_for_ever(
    fake: FakeSkyPilot, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skypilot, "LOOK_LIMIT_S", 0.05)
    answers = asyncio.Event()

    async def hang(call: Call) -> Reply:
        if call.url.endswith("/endpoints") and not answers.is_set():
            await asyncio.sleep(3600)
        return await fake(call)

    fake.clusters = [cluster(f"game-{n}") for n in range(40)]
    fake.endpoints = {f"game-{n}": {"8081": f"10.1.0.{n}:8081"} for n in range(40)}
    clusters = Clusters(ApiServer(URL, "", ask=hang), "game", port=8081, clock=clock)
    slow = await clusters.look()
    assert {(each.state, each.reason) for each in slow.servers} == {
        (State.FOUND, "its endpoint has not been asked for yet: the API server is slow")
    }
    answers.set()
    assert all(each.address for each in (await clusters.look()).servers)


async def test_services_are_shown_with_the_state_that_skypilot_gives_and_their_replicas(
    fake: FakeSkyPilot, services: Services
) -> None:
    fake.services = [
        *(service(f"game-svc-{n}") for n in range(4)),
        service("game-svc-4", "FAILED", ready=0, failed=2),
        service("other-svc"),
    ]
    servers = (await services.look()).servers
    balancers = {each.name: each for each in servers if each.kind is Kind.SERVICE}
    assert sorted(balancers) == [f"game-svc-{n}" for n in range(5)]
    assert balancers["game-svc-0"].state is State.HEALTHY
    assert balancers["game-svc-4"].state is State.UNREACHABLE
    assert balancers["game-svc-4"].reason == "a balancer: FAILED, 0 of 2 replicas ready"
    replicas = {each.name: each for each in servers if each.kind is Kind.REPLICA}
    assert replicas["game-svc-0-1"].address == "http://10.1.8.1:8081"
    assert replicas["game-svc-4-2"].reason == "the replica is FAILED"


async def test_without_a_controller_of_services_there_are_none(
    fake: FakeSkyPilot, services: Services
) -> None:
    fake.failures = {"/serve/status": ("ClusterNotUpError", "No live services.")}
    assert (await services.look()).servers == ()


async def test_what_a_failed_request_says_is_the_reason(
    fake: FakeSkyPilot, services: Services
) -> None:
    fake.failures = {"/serve/status": ("RuntimeError", "Failed to refresh services status.")}
    with pytest.raises(LookError, match=r"^RuntimeError: Failed to refresh services status\.$"):
        await services.look()


TOKEN = "set SKYPILOT_API_SERVER_SERVICE_ACCOUNT_TOKEN anew"
BAD_REPLIES = {
    "an expired token": (
        Reply(401, {}, b'{"detail":"Service account token has expired"}'),
        f"http://api:46580 refuses the token (401: Service account token has expired): {TOKEN}",
    ),
    "a token without rights": (
        Reply(403, {}, b'{"detail":["a","b"]}'),
        f'http://api:46580 refuses the token (403: {{"detail":["a","b"]}}): {TOKEN}',
    ),
    "an error of the server": (
        Reply(500, {}, b"Internal Server Error"),
        "http://api:46580 answered 500: Internal Server Error",
    ),
    "a server that shuts down": (
        Reply(503, {}, b'{"detail":"Server is shutting down, please try again later."}'),
        "http://api:46580 answered 503: Server is shutting down, please try again later.",
    ),
    "an error without a word": (
        Reply(502, {}, b""),
        "http://api:46580 answered 502: without a word",
    ),
    "a redirect": (
        Reply(302, {"location": "http://169.254.169.254/"}, b""),
        "http://api:46580 redirects to http://169.254.169.254/, which is not followed: "
        "set SKYPILOT_API_SERVER_ENDPOINT to the API server itself",
    ),
    "another program": (
        Reply(200, {}, b"<html>"),
        "http://api:46580 has named no request: "
        "is SKYPILOT_API_SERVER_ENDPOINT a SkyPilot API server?",
    ),
    "an id that is a path": (
        Reply(200, {"x-skypilot-request-id": "../../secrets?x="}, b"null"),
        "http://api:46580 has named no request: "
        "is SKYPILOT_API_SERVER_ENDPOINT a SkyPilot API server?",
    ),
}
BAD_RESULTS = {
    "an error of the server": (Reply(500, {}, b"oops"), "http://api:46580 answered 500"),
    "no record": (Reply(200, {}, b'{"request_id":1}'), "http://api:46580 has sent no result: "),
    "no JSON": (Reply(200, {}, b"\xff\xfe"), "http://api:46580 has sent no result: "),
    "an end without a result": (
        Reply(200, {}, b'{"status":"CANCELLED","return_value":"null"}'),
        "http://api:46580: the request ended as CANCELLED",
    ),
    "a result that is no list": (
        Reply(200, {}, b'{"status":"SUCCEEDED","return_value":"{}"}'),
        "the answer is no list: ",
    ),
    "a result that is no JSON": (
        Reply(200, {}, b'{"status":"SUCCEEDED","return_value":"[[["}'),
        "the answer is no list: ",
    ),
    "half of Unicode": (
        Reply(200, {}, rb'{"status":"SUCCEEDED","return_value":"\ud800"}'),
        "http://api:46580 has sent no result: ",
    ),
}


@pytest.mark.parametrize("what", BAD_REPLIES)
async def test_a_bad_reply_is_a_reason(fake: FakeSkyPilot, clusters: Clusters, what: str) -> None:
    fake.replies["POST /status"], reason = BAD_REPLIES[what]
    with pytest.raises(LookError) as refused:
        await clusters.look()
    assert str(refused.value) == reason


@pytest.mark.parametrize("what", BAD_RESULTS)
async def test_a_bad_result_is_a_reason(fake: FakeSkyPilot, clusters: Clusters, what: str) -> None:
    fake.replies["GET /api/get"], reason = BAD_RESULTS[what]
    with pytest.raises(LookError) as refused:
        await clusters.look()
    assert str(refused.value).startswith(reason)
    assert str(refused.value).isprintable()


async def test_entries_that_cannot_be_read_are_problems_and_the_others_stand(
    fake: FakeSkyPilot, clusters: Clusters
) -> None:
    fake.clusters = [
        *(7, None, {"name": "game-1"}, cluster("game-1", labels=7), cluster("game\n2")),
        {**cluster("game-3", "INIT"), "launched_at": None},
        {**cluster("game-4"), "status": 4},
    ]
    look = await clusters.look()
    assert [each.name for each in look.servers] == ["game-1", "game-3"]
    assert len(look.problems) == 5
    assert look.problems[3].startswith("entry 5: no server can be named 'game...")


async def test_a_pickle_in_every_field_is_decoded_by_nobody(
    fake: FakeSkyPilot, clusters: Clusters, services: Services, tmp_path: Path
) -> None:
    marker = tmp_path / "unpickled"
    bomb = fake.object = pickled(marker)
    entry = dict.fromkeys(cluster("x"), bomb)
    fake.clusters = [
        {**entry, "name": f"game{bomb}", "launched_at": 1},
        entry,
        cluster("game-1", handle=bomb, storage_mounts_metadata=bomb, labels=bomb),
        bomb,
    ]
    fake.endpoints = {"game-1": {"8081": bomb, bomb: bomb}}
    fake.services = [
        {**dict.fromkeys(service("x"), bomb), "name": f"game{bomb}", "replica_info": [entry, bomb]},
        {**service("game-2"), "endpoint": bomb, "handle": bomb},
    ]
    fake.failures = {"/endpoints game-2": (bomb, bomb)}
    look = await clusters.look()
    assert [each.address for each in look.servers if each.name == "game-1"] == [bomb]
    await services.look()
    fake.failures = dict.fromkeys(("/status", "/serve/status"), (bomb, bomb))
    for source in (clusters, services):
        with pytest.raises(LookError, match=bomb[:40]):
            await source.look()
    for reply in (Reply(200, {}, bomb.encode()), Reply(500, {}, pickle.dumps(bomb))):
        fake.replies["GET /api/get"] = reply
        with pytest.raises(LookError):
            await clusters.look()
    assert not marker.exists()
    assert_it_goes_off(bomb, marker)


def assert_it_goes_off(bomb: str, marker: Path) -> None:
    raw = base64.b64decode(bomb)
    pickle.loads(raw)
    assert marker.exists()


def test_no_file_of_discovery_imports_what_could_unpickle() -> None:
    folder = Path(gameservers.discovery.__path__[0])
    names = {
        alias.name
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in [*node.names, ast.alias(getattr(node, "module", None) or "")]
    }
    assert not names & {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "sky"}
    assert "h11" in names


@pytest.mark.parametrize(
    ("url", "token"),
    [("api:46580", ""), ("ftp://api", ""), ("http://", ""), (URL, "sky\nabc"), (URL, "sky abc")],
)
def test_it_refuses_what_is_no_address_or_no_token_and_shows_no_secret(
    fake: FakeSkyPilot, url: str, token: str
) -> None:
    with pytest.raises(SettingsError, match="SKYPILOT_API_SERVER_") as refused:
        ApiServer(url, token, ask=fake)
    assert "abc" not in str(refused.value)


async def test_a_login_in_the_address_is_used_where_there_is_no_token_and_never_shown(
    fake: FakeSkyPilot,
) -> None:
    api = ApiServer("http://me:p%40ss@api:46580/", "", ask=fake)
    fake.replies["POST /status"] = Reply(500, {}, b"")
    with pytest.raises(LookError) as refused:
        await api.call("/status", {}, limit_s=1)
    assert "p%40ss" not in str(refused.value)
    assert fake.calls[0][0].headers["Authorization"] == "Basic bWU6cEBzcw=="
