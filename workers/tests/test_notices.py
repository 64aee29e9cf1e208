"""Notices of three clouds, from answers as they give them, and what a watcher makes of them."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event

import pytest

from workers.errors import NoticeError
from workers.notices import aws, azure, gcp
from workers.notices.aws import Aws
from workers.notices.azure import Azure
from workers.notices.base import MAX_BYTES, Cloud, Metadata, Notice
from workers.notices.gcp import Gcp
from workers.notices.watcher import CLOUDS, OFF, NoticeWatcher, choose_cloud
from workers.tests.metadata import MetadataStub, Reply, run_metadata

TOKEN = "AQAEAHJlY29yZGVk=="
# As the documentation of each cloud has them.
TERMINATE = b'{"action": "terminate", "time": "2026-09-18T08:22:00Z"}'
REBALANCE = b'{"noticeTime": "2026-10-26T22:58:50Z"}'
GOOGLE = {"Metadata-Flavor": "Google"}


def list_events(*events: dict[str, object]) -> Reply:
    return Reply(body=json.dumps({"DocumentIncarnation": 3, "Events": events}).encode())


def make_event(kind: str, *machines: str) -> dict[str, object]:
    return {
        "EventId": "602d9444-d2cd-49c7-8624-8643e7171297",
        "EventStatus": "Scheduled",
        "EventType": kind,
        "ResourceType": "VirtualMachine",
        "Resources": list(machines),
        "NotBefore": "Mon, 19 Sep 2026 18:29:47 GMT",
        "Description": "",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }


@pytest.fixture
def stub() -> Iterator[MetadataStub]:
    with run_metadata() as running:
        yield running


@pytest.fixture
def on_aws(stub: MetadataStub) -> MetadataStub:
    stub.replies["PUT", aws.TOKEN] = Reply(body=TOKEN.encode())
    return stub


@pytest.fixture
def on_gcp(stub: MetadataStub) -> MetadataStub:
    stub.replies["GET", gcp.PREEMPTED] = Reply(body=b"FALSE", headers=GOOGLE)
    return stub


@pytest.fixture
def on_azure(stub: MetadataStub) -> MetadataStub:
    stub.replies["GET", azure.EVENTS] = list_events()
    stub.replies["GET", azure.NAME] = Reply(body=b"spot_3")
    return stub


def test_aws_says_nothing_then_recommends_then_takes(on_aws: MetadataStub) -> None:
    cloud = Aws(Metadata(on_aws.address))
    assert cloud.read_notice() is None
    on_aws.replies["GET", aws.REBALANCE] = Reply(body=REBALANCE)
    recommended = cloud.read_notice()
    assert recommended
    assert not recommended.is_final
    assert "2026-10-26T22:58:50Z" in recommended.reason
    on_aws.replies["GET", aws.ACTION] = Reply(body=TERMINATE)
    taken = cloud.read_notice()
    assert taken
    assert taken.is_final
    assert taken.reason == "AWS: terminate at 2026-09-18T08:22:00Z"
    # One token for all, with every question.
    methods = [method for method, _, _ in on_aws.requests]
    assert methods.count("PUT") == 1
    assert {h.get("x-aws-ec2-metadata-token") for m, _, h in on_aws.requests if m == "GET"} == {
        TOKEN
    }


def test_a_token_of_aws_that_has_run_out_is_replaced(on_aws: MetadataStub) -> None:
    cloud = Aws(Metadata(on_aws.address))
    on_aws.replies["GET", aws.ACTION] = Reply(401)
    with pytest.raises(NoticeError, match="answered 401"):
        cloud.read_notice()
    on_aws.replies["GET", aws.ACTION] = Reply(body=TERMINATE)
    assert cloud.read_notice()
    assert sum(method == "PUT" for method, _, _ in on_aws.requests) == 2


def test_google_says_that_it_preempts(on_gcp: MetadataStub) -> None:
    cloud = Gcp(Metadata(on_gcp.address))
    assert cloud.read_notice() is None
    on_gcp.replies["GET", gcp.PREEMPTED] = Reply(body=b"TRUE", headers=GOOGLE)
    assert cloud.read_notice() == Notice("gcp preempted", "Google Cloud: preempted")
    assert all(headers["metadata-flavor"] == "Google" for _, _, headers in on_gcp.requests)


def test_who_only_says_true_is_not_google(on_gcp: MetadataStub) -> None:
    on_gcp.replies["GET", gcp.PREEMPTED] = Reply(body=b"TRUE")
    with pytest.raises(NoticeError, match="TRUE"):
        Gcp(Metadata(on_gcp.address)).read_notice()


def test_azure_evicts_this_machine_and_not_another_of_its_set(on_azure: MetadataStub) -> None:
    cloud = Azure(Metadata(on_azure.address))
    assert cloud.read_notice() is None
    on_azure.replies["GET", azure.EVENTS] = list_events(make_event("Preempt", "spot_1", "spot_2"))
    assert cloud.read_notice() is None
    events = [make_event("Freeze", "spot_3"), make_event("Preempt", "spot_2", "SPOT_3")]
    on_azure.replies["GET", azure.EVENTS] = list_events(*events)
    notice = cloud.read_notice()
    assert notice
    assert notice.reason == "Azure: Preempt after Mon, 19 Sep 2026 18:29:47 GMT"
    assert all(headers["metadata"] == "true" for _, _, headers in on_azure.requests)


def test_a_freeze_of_azure_stops_nothing(on_azure: MetadataStub) -> None:
    on_azure.replies["GET", azure.EVENTS] = list_events(make_event("Freeze", "spot_3"))
    assert Azure(Metadata(on_azure.address)).read_notice() is None


RUBBISH = (
    Reply(),
    Reply(body=b"TRUE-ish"),
    Reply(body=b"<html>proxy login</html>"),
    Reply(body=b"[" * 60_000),
    Reply(body=b'{"Events": "none"}'),
    Reply(body=b'{"action": 7}'),
    Reply(body=b"\xff\xfe\x00"),
    Reply(body=b"a" * (MAX_BYTES + 1)),
    Reply(500, b"broken"),
    Reply(302, headers={"Location": "http://127.0.0.1:1/"}),
)


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("reply", RUBBISH)
def test_rubbish_is_no_notice_of_any_cloud(name: str, reply: Reply, stub: MetadataStub) -> None:
    paths = (aws.ACTION, aws.REBALANCE, gcp.PREEMPTED, azure.EVENTS, azure.NAME)
    stub.replies = {("GET", path): reply for path in paths}
    stub.replies["PUT", aws.TOKEN] = Reply(body=TOKEN.encode())
    cloud = choose_cloud(name, stub.address)
    assert cloud
    with pytest.raises(NoticeError):
        cloud.read_notice()
    stub.replies["PUT", aws.TOKEN] = reply
    with pytest.raises(NoticeError):
        choose_cloud(name, stub.address).read_notice()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [*CLOUDS, "auto"])
def test_an_address_that_hangs_or_refuses_is_an_error_in_time(name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        cloud = CLOUDS[name](Metadata(address, limit_s=0.05)) if name in CLOUDS else None
        if cloud:
            with pytest.raises(NoticeError):
                cloud.read_notice()
    detected = choose_cloud(name, address)
    assert detected
    with pytest.raises(NoticeError):
        detected.read_notice()


@pytest.mark.parametrize("here", ["on_aws", "on_gcp", "on_azure"])
def test_the_cloud_that_answers_is_found(here: str, request: pytest.FixtureRequest) -> None:
    stub: MetadataStub = request.getfixturevalue(here)
    cloud = choose_cloud("auto", stub.address)
    assert cloud
    assert cloud.read_notice() is None
    stub.replies = {
        **stub.replies,
        ("GET", aws.ACTION): Reply(body=TERMINATE),
        ("GET", gcp.PREEMPTED): Reply(body=b"TRUE", headers=GOOGLE),
        ("GET", azure.EVENTS): list_events(make_event("Preempt", "spot_3")),
    }
    notice = cloud.read_notice()
    assert notice
    assert notice.key.startswith(here.removeprefix("on_"))


def test_off_asks_nobody() -> None:
    assert choose_cloud(OFF) is None


@dataclass
class ToldCloud:
    """Says one thing after the other; the last for ever. None: nothing stands."""

    says: list[Notice | NoticeError | None]
    name: str = "told"
    n_asked: int = 0
    was_asked: Event = field(default_factory=Event)

    def is_here(self) -> bool:
        return True

    def read_notice(self) -> Notice | None:
        self.n_asked += 1
        notice = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(notice, NoticeError):
            raise notice
        return notice


TAKEN = Notice("key-1", "taken")
RECOMMENDED = Notice("key-2", "recommended", is_final=False)


def watch(cloud: Cloud) -> bool:
    """Return whether the drain was started within a second."""
    drained = Event()
    watcher = NoticeWatcher(cloud, drained.set, every_s=0.01)
    watcher.hold_start(lambda: False)
    watcher.start()
    was_drained = drained.wait(1 if TAKEN in cloud.says else 0.1)  # type: ignore[attr-defined]
    watcher.close()
    return was_drained


def test_a_notice_starts_the_drain() -> None:
    assert watch(ToldCloud([None, None, TAKEN]))


def test_what_stands_at_the_start_and_is_not_final_starts_nothing() -> None:
    assert not watch(ToldCloud([RECOMMENDED]))
    assert watch(ToldCloud([RECOMMENDED, TAKEN]))


def test_a_node_started_again_waits_while_its_machine_goes() -> None:
    cloud = ToldCloud([TAKEN, TAKEN, None])
    NoticeWatcher(cloud, every_s=0.001).hold_start(lambda: False)
    assert cloud.n_asked == 3


def test_a_node_that_waits_can_be_stopped() -> None:
    cloud = ToldCloud([TAKEN])
    NoticeWatcher(cloud, every_s=0.001).hold_start(lambda: cloud.n_asked > 2)
    assert cloud.n_asked == 3


def test_trouble_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    trouble = NoticeError("hangs")
    watcher = NoticeWatcher(ToldCloud([trouble, trouble, None, trouble]))
    assert [watcher.look() for _ in range(4)] == [None] * 4
    assert [r.levelname for r in caplog.records].count("WARNING") == 2
