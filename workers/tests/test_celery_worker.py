"""A real Celery worker on a real broker."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from arena.messages import AgentOrder, Alive, Ending, MatchOrder, Reason, Results, Started, to_wire
from arena.tests.deadly import DEADLY
from inference.tests.servers import wait_until
from workers.notices.gcp import FLAVOR, PREEMPTED
from workers.tests.broker import Broker
from workers.tests.metadata import Reply, run_metadata
from workers.tests.orders import ORDER, make_order

pytestmark = pytest.mark.slow

KEY = "7" * 64
ROOT = Path(__file__).parents[2]
COMMAND = (
    *(sys.executable, "-m", "celery", "-A", "workers", "worker", "-P", "solo", "-Q", "play.node-1"),
    *("-n", "node-1@%h", "-E", "--without-gossip", "--without-mingle", "-l", "INFO"),
)
LEVELS = (AgentOrder("level", {"level": 20}), AgentOrder("level", {"level": 90}))


class Worker:
    """A play node of two slots."""

    def __init__(self, broker: Broker, log: Path, **more: str) -> None:
        self.log = log
        environ = {
            **os.environ,
            "REDIS_URL": broker.url,
            "EVALSITE_NODE": "node-1",
            "EVALSITE_NODE_KEY": KEY,
            "EVALSITE_SLOTS": "2",
            "EVALSITE_CAPABILITIES": "cpu",
            "EVALSITE_REPORT_S": "0.2",
            "EVALSITE_NOTICE_S": "2",
            **more,
        }
        with log.open("w") as file:
            self.process = psutil.Popen(
                COMMAND, cwd=ROOT, env=environ, stdout=file, stderr=subprocess.STDOUT
            )

    def players(self) -> list[psutil.Process]:
        return [child for child in self.process.children() if "workers.player" in child.cmdline()]

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> float:
        """Return how long it takes to stop."""
        began = time.monotonic()
        self.process.send_signal(sign)
        self.process.wait(15)
        return time.monotonic() - began


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Broker(tmp_path_factory.mktemp("broker"))
    yield broker
    broker.kill()


@pytest.fixture
def worker(broker: Broker, tmp_path: Path) -> Iterator[Worker]:
    broker.empty()
    worker = Worker(broker, tmp_path / "log")
    try:
        wait_until(lambda: any(isinstance(r, Alive) for r in broker.read()), "the worker lives")
        yield worker
    finally:
        if worker.process.is_running():
            worker.process.kill()
            worker.process.wait()


def levels(n: int, duration_s: float = 0.0) -> MatchOrder:
    return make_order(n, game="skill_game", agents=LEVELS, duration_s=duration_s)


def results(broker: Broker) -> list[Results]:
    return [report for report in broker.read() if isinstance(report, Results)]


def is_closed(broker: Broker) -> bool:
    return any(report.is_last for report in results(broker))


def test_an_order_is_played_reported_and_nothing_bad_stops_the_worker(
    broker: Broker, worker: Worker
) -> None:
    (alive,) = [report for report in broker.reports if isinstance(report, Alive)]
    assert (alive.node, alive.slots, alive.capabilities) == ("node-1", 2, ["cpu"])
    assert {"python", "open_spiel"} <= set(alive.versions)
    assert re.fullmatch("[0-9a-f]{32}", alive.incarnation)

    broker.push("play.node-1", *DEADLY)
    broken = to_wire(levels(1))
    broken["matches"][0][2] = "seed"
    broker.send(broken)
    broker.send({"order": 1})
    broker.send(make_order(2, game="calvinball"))
    wait_until(lambda: is_closed(broker), "the unknown game is refused")
    (refused,) = results(broker)
    assert {row.ending for row in refused.results} == {Ending.FAILED}
    assert "unknown game 'calvinball': choose one of" in refused.results[0].detail
    logged = worker.log.read_text()
    assert logged.count("an item of queue play.node-1 was dropped") == len(DEADLY) + 2
    assert "dropped: Expected `int`, got `str` - at `$[0][0].matches[0][2]`" in logged

    broker.reports.clear()
    broker.send(levels(500))
    wait_until(lambda: is_closed(broker), "the order is played")
    assert broker.reports[0] == Started("node-1", alive.incarnation, ORDER, "order-token", KEY)
    rows = [row for report in results(broker) for row in report.results]
    assert sorted(row.match for row in rows) == list(range(100, 600))
    assert {row.ending for row in rows} == {Ending.DONE}


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_reports_and_ends_within_the_notice(
    broker: Broker, worker: Worker, sign: signal.Signals
) -> None:
    broker.send(levels(1000, duration_s=0.1))
    wait_until(lambda: len(results(broker)) > 2, "results come")
    players = worker.players()
    assert len(players) == 2
    assert worker.stop(sign) < 2
    assert is_closed(broker)
    rows = [row for report in results(broker) for row in report.results]
    assert 0 < len(rows) < 1000
    assert {row.ending for row in rows} == {Ending.DONE}
    assert not any(player.is_running() for player in players)


def test_a_notice_of_the_cloud_stops_it_as_sigterm_does(broker: Broker, tmp_path: Path) -> None:
    broker.empty()
    with run_metadata() as cloud:
        cloud.replies["GET", PREEMPTED] = Reply(body=b"FALSE", headers=FLAVOR)
        own = {"EVALSITE_NOTICES": "auto", "EVALSITE_NOTICES_URL": cloud.address}
        worker = Worker(broker, tmp_path / "log", **own)
        try:
            broker.send(levels(1000, duration_s=0.1))
            wait_until(lambda: len(results(broker)) > 2, "results come")
            assert worker.process.is_running()
            cloud.replies["GET", PREEMPTED] = Reply(body=b"TRUE", headers=FLAVOR)
            assert worker.process.wait(10) == 0
            assert is_closed(broker)
            rows = [row for report in results(broker) for row in report.results]
            assert {row.ending for row in rows} == {Ending.DONE}
            # Started again on the machine that goes, it takes nothing, and can be stopped.
            broker.empty()
            worker = Worker(broker, tmp_path / "again", **own)
            wait_until(lambda: "no order is taken" in worker.log.read_text(), "it waits")
            assert not broker.read()
            assert worker.stop() < 4
        finally:
            if worker.process.is_running():
                worker.process.kill()
                worker.process.wait()


def test_told_to_stop_at_once_it_gives_back_what_it_plays(broker: Broker, worker: Worker) -> None:
    broker.send(levels(1000, duration_s=30))
    wait_until(lambda: any(report.executing for report in results(broker)), "it plays")
    assert worker.stop(signal.SIGQUIT) < 2
    assert is_closed(broker)
    rows = [row for report in results(broker) for row in report.results]
    assert {(row.ending, row.reason) for row in rows} == {(Ending.INTERRUPTED, Reason.RETURNED)}


def test_a_worker_without_work_stops_at_once(worker: Worker) -> None:
    assert worker.stop() < 2


def test_results_wait_for_a_broker_that_is_away(broker: Broker, worker: Worker) -> None:
    broker.send(levels(60, duration_s=0.1))
    wait_until(lambda: results(broker), "results come")
    broker.kill()
    time.sleep(1)
    broker.start()
    wait_until(lambda: is_closed(broker), "the rest comes")
    rows = [row for report in results(broker) for row in report.results]
    assert {row.match for row in rows} == set(range(100, 160))
    assert "reports wait until the broker takes them" in worker.log.read_text()
    broker.reports.clear()
    broker.send(levels(10))
    wait_until(lambda: is_closed(broker), "the next order is played")


def test_no_player_outlives_a_killed_worker(broker: Broker, worker: Worker) -> None:
    broker.send(levels(100, duration_s=5))
    wait_until(lambda: any(report.executing for report in results(broker)), "it plays")
    players = worker.players()
    worker.process.kill()
    _, alive = psutil.wait_procs(players, timeout=5)
    assert len(players) == 2
    assert not alive


def test_without_a_broker_address_it_does_not_start() -> None:
    environ = {name: value for name, value in os.environ.items() if name != "REDIS_URL"}
    ended = subprocess.run(
        COMMAND, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=20, check=False
    )
    assert ended.returncode != 0
    assert "REDIS_URL='': must be the broker's address" in ended.stderr


def test_with_a_queue_that_is_not_its_own_it_does_not_start(broker: Broker) -> None:
    environ = {
        **os.environ,
        "REDIS_URL": broker.url,
        "EVALSITE_NODE": "node-7",
        "EVALSITE_NODE_KEY": KEY,
    }
    done = subprocess.run(
        COMMAND, cwd=ROOT, env=environ, check=False, timeout=20, capture_output=True
    )
    assert done.returncode == 1
    assert b"-Q='play.node-1': must be play.node-7, the queue of EVALSITE_NODE" in done.stderr


def test_it_starts_where_django_is_not_installed() -> None:
    program = "import sys; sys.modules['django'] = None; import workers.celery, workers.tasks"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=20)
