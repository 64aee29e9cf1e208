"""What Prometheus is told, by whom it may be read, and that a scrape looks while control cannot."""

import re
from datetime import timedelta

import msgspec
import pytest
from django.test import AsyncClient, Client
from pytest_django import DjangoAssertNumQueries, Settings
from redis import Redis

from arena.messages import Serving
from arena.queues import serving_key
from matches import dispatch
from matches.errors import BrokerError
from matches.models import RecorderMark, Tournament
from matches.operations.system import pushing
from matches.store import disk, fast_store
from matches.store.attempt_counters import AttemptCounter, Kind
from matches.store.clock import db_now
from matches.tests import factories

pytestmark = pytest.mark.django_db


def _busy(broker: Redis) -> None:
    now = db_now()
    tournament = factories.planned(40)
    factories.alive(now=now)
    factories.alive(node="gpu-1", capabilities=["gpu"], now=now)
    factories.start(factories.ordered(tournament, 8, now=now), now=now)
    factories.ordered(tournament, 8, now=now)
    RecorderMark.objects.create(pk=1, marked_at=now)
    tally = AttemptCounter()
    tally.note([Kind("done", ""), Kind("done", ""), Kind("failed", "error")])
    tally.flush(now=now)
    serving = Serving("gpu-1", [0], 5, 3, 812.0, 40.0, 6_496.0, 6.0, 22.0, 0)
    broker.set(serving_key("gpu-1"), msgspec.json.encode(serving))
    pushing.push_sample(now=now)


def test_it_tells_what_control_saw(
    client: Client, broker: Redis, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    _busy(broker)
    with django_assert_max_num_queries(1):  # the time of the database
        page = client.get("/metrics").content.decode()
    for line in (
        'evalsite_nodes{kind="play"} 1.0',
        "evalsite_slots 2.0",
        'evalsite_part_up{part="broker"} 1.0',
        'evalsite_queue_messages{queue="play.*"} 1.0',
        'evalsite_queue_takers{queue="gpu"} 1.0',
        'evalsite_attempts_total{ending="done",reason=""} 2.0',
        'evalsite_attempts_total{ending="failed",reason="error"} 1.0',
        'evalsite_start_wait_seconds{quantile="0.99"} 0.0',
        'evalsite_inference_answer_seconds{gpu="gpu-1",quantile="0.99"} 0.022',
        'evalsite_inference_models{gpu="gpu-1"} 3.0',
    ):
        assert line in page
    for name in ("sample_age", "control_age", "recorder_lag", "rating_lag"):
        assert f"\nevalsite_{name}_seconds " in page


def test_a_standstill_is_told_beside_what_waits_for_its_end(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    _busy(broker)
    page = client.get("/metrics").content.decode()
    assert "evalsite_standstill 0.0" in page
    assert "evalsite_tournaments_under_way 1.0" in page
    monkeypatch.setattr(disk, "describe_shortage", lambda: "the disk has 3 MB left")
    Tournament.objects.update(state=Tournament.State.PAUSED)
    pushing.push_sample(now=db_now() + timedelta(seconds=9))
    page = client.get("/metrics").content.decode()
    assert "evalsite_standstill 1.0" in page
    assert "evalsite_tournaments_under_way 0.0" in page


def test_requests_are_timed_by_pattern_and_never_by_path(client: Client, broker: Redis) -> None:
    client.get("/system/nodes/77/")
    client.get("/nowhere/77/")
    client.generic("BREW", "/healthz")
    page = client.get("/metrics").content.decode()
    start = "evalsite_http_request_seconds_count"
    assert f'{start}{{method="GET",route="system/nodes/<int:pk>/",status="404"}}' in page
    assert f'{start}{{method="GET",route="none",status="404"}}' in page
    assert f'{start}{{method="other",route="healthz",status="405"}}' in page


async def test_requests_of_the_real_server_are_timed_too(
    async_client: AsyncClient, client: Client, broker: Redis
) -> None:
    await async_client.get("/healthz")
    reply = await async_client.get("/metrics")
    assert 'method="GET",route="healthz",status="200"' in reply.content.decode()


def test_without_the_fast_store_it_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = Redis.from_url("redis://127.0.0.1:1/0")
    monkeypatch.setattr(fast_store, "get_client", lambda: nobody)
    page = client.get("/metrics").content.decode()
    assert 'evalsite_part_up{part="fast store"} 0.0' in page
    assert "process_resident_memory_bytes" in page


def test_without_the_database_it_says_so(
    client: Client, broker: Redis, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue("database_away")
    reply = client.get("/metrics")
    assert reply.status_code == 200
    assert 'evalsite_part_up{part="database"} 0.0' in reply.content.decode()


def test_a_broker_that_is_away_is_told_although_control_cannot_look(
    client: Client, broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushing.push_sample(now=db_now() - timedelta(seconds=30))

    def fail(*_: object) -> int:
        raise BrokerError("it does not answer")

    monkeypatch.setattr(dispatch, "read_queue_length", fail)
    page = client.get("/metrics").content.decode()
    assert 'evalsite_part_up{part="broker"} 0.0' in page
    age = re.search(r"^evalsite_control_age_seconds (.+)$", page, re.MULTILINE)
    assert age is not None
    assert float(age[1]) > 29


def test_before_control_has_looked_its_age_is_missing(client: Client, broker: Redis) -> None:
    page = client.get("/metrics").content.decode()
    assert 'evalsite_part_up{part="broker"} 1.0' in page
    assert "evalsite_control_age_seconds" not in page


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": "192.0.2.7"}, 403),
        ({"REMOTE_ADDR": ""}, 403),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "192.0.2.7"}, 403),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=192.0.2.7"}, 403),
    ],
)
def test_without_a_token_only_this_machine_may_read(
    client: Client, broker: Redis, headers: dict[str, str], status: int
) -> None:
    assert client.get("/metrics", **headers).status_code == status  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("header", "status"),
    [("Bearer a-token", 200), ("Bearer another", 403), ("a-token", 403), ("Bearer tök", 403)],
)
def test_with_a_token_whoever_shows_it_may_read(
    client: Client, broker: Redis, settings: Settings, header: str, status: int
) -> None:
    settings.EVALSITE_METRICS_TOKEN = "a-token"
    assert client.get("/metrics").status_code == 403
    reply = client.get("/metrics", REMOTE_ADDR="192.0.2.7", HTTP_AUTHORIZATION=header)
    assert reply.status_code == status
