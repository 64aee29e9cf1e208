"""A broker that cannot read its file begins with an empty one and keeps the old one."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_django import Settings
from redis import Redis
from redis.exceptions import RedisError

from arena.acl import Server
from launcher.addresses import Ports
from launcher.folders import SECRETS
from launcher.plan import Plan
from launcher.salvage import BEGINS, FILES, describe_set_aside, is_damaged, set_aside
from launcher.supervision import Supervisor, kill_leftovers
from matches.operations.system.display import format_state
from matches.operations.system.sample import SystemState
from matches.operations.system.sampling import take_sample
from matches.store import disk

REFUSED = "# Bad file format reading the append only file appendonly.aof.1.incr.aof: make a backup"


@pytest.mark.parametrize(
    ("lines", "damaged"),
    [
        ([BEGINS, REFUSED], True),
        ([BEGINS, "# Internal error in RDB reading offset 0 -> RDB CRC error"], True),
        ([BEGINS, "*** FATAL AOF MANIFEST FILE ERROR ***"], True),
        ([BEGINS, REFUSED, BEGINS, "* Ready to accept connections tcp"], False),
        ([BEGINS, REFUSED, BEGINS], False),
        ([BEGINS, "# Could not create server TCP listening socket: Address already in use"], False),
        (
            [BEGINS, "# Error reading the append only file x", "* Ready to accept connections"],
            False,
        ),
        ([], False),
    ],
)
def test_only_the_last_words_of_a_server_that_could_not_read_its_file_count(
    lines: list[str], damaged: bool, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text("\n".join(lines))
    assert is_damaged(tmp_path / "log") == damaged
    assert not is_damaged(tmp_path / "no log")


@pytest.mark.parametrize(
    ("server", "lost"),
    [("broker", "what waited in it is sent again"), ("stream", "is in it alone")],
)
def test_what_is_set_aside_is_kept_under_its_date_and_told(
    server: str, lost: str, tmp_path: Path
) -> None:
    folder = tmp_path / server
    (folder / FILES).mkdir(parents=True)
    kept = set_aside(folder, now=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert kept == folder / "set-aside-20260102-030405"
    assert kept.is_dir()
    (sentence,) = describe_set_aside(tmp_path)
    assert str(kept) in sentence
    assert f"the {server}'s file was damaged" in sentence
    assert lost in sentence


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("server", "lost"),
    [
        ("broker", "what waited in it is sent again"),
        ("stream", "what the sink had not written is in it alone"),
    ],
)
def test_the_page_of_the_system_tells_it_for_a_day(
    server: str, lost: str, broker: Redis, settings: Settings, tmp_path: Path
) -> None:
    settings.VAR = tmp_path
    set_at = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
    (tmp_path / server / FILES).mkdir(parents=True)
    kept = set_aside(tmp_path / server, now=set_at)
    sample = take_sample(now=set_at + timedelta(hours=23), last=None)
    text = format_state(SystemState(sample, [sample.point], sample.at))["trouble"]
    assert f"the {server}'s file was damaged and is kept as {server}/{kept.name}" in text
    assert lost in text
    assert disk.list_files_set_aside(now=set_at + timedelta(hours=25)) == []


def wait_for(condition: Callable[[], bool], *, limit_s: float = 30) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)


@pytest.fixture
def plan(tmp_path: Path) -> Iterator[Plan]:
    (tmp_path / "log").mkdir()
    yield Plan(var=tmp_path, ports=Ports.free(), web=False, flower=False, experience=True)
    Supervisor(tmp_path).shut_down(limit_s=10)
    kill_leftovers(tmp_path)


def answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("name", ["broker", "stream"])
def test_a_server_whose_file_ends_in_garbage_comes_back_by_itself(name: Server, plan: Plan) -> None:
    secrets = dict.fromkeys(SECRETS, "x")
    (server,) = [p for p in plan.programs(secrets, generations={}) if p.name == name]
    supervisor = Supervisor(plan.var)
    client = Redis.from_url(plan.admin_url(name, secrets))
    supervisor.start([server], at_once=[name])
    wait_for(lambda: answers(client))
    client.lpush("play.node-1", "an order")
    supervisor.stop_programs([name], limit_s=10)
    (written,) = (plan.var / name / FILES).glob("*.incr.aof")
    with written.open("ab") as file:
        file.write(b"\0" * 100)  # as a file system may leave it after a power cut
    supervisor.start_programs([name])
    wait_for(lambda: answers(client))
    assert client.exists("play.node-1") == 0
    (kept,) = (plan.var / name).glob("set-aside-*")
    assert (kept / written.name).read_bytes().endswith(b"\0" * 100)
    log = (plan.var / "log" / f"{name}.log").read_text()
    assert "the damaged append-only file is kept as" in log
