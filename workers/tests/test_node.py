"""A play node in this process: its task, its signals and its broker."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from celery import Celery
from celery.worker import state

from arena import catalogs
from arena.messages import AgentOrder, Alive, Ending, Report, Results, to_wire
from arena.programs import read_programs
from inference.tests.servers import wait_until
from workers import celery, node, tasks
from workers.errors import PublishError
from workers.node import Node
from workers.publisher import Publisher
from workers.settings import Settings
from workers.stop_signals import Stop, StopSignals
from workers.tests.broker import OPTIONS, Broker
from workers.tests.orders import ORDER, make_order

OWN = Settings(redis_url="redis://127.0.0.1:1/0", node="node-1", slots=1, key="key", notice_s=2)
LEVELS = (AgentOrder("level", {"level": 20}), AgentOrder("level", {"level": 90}))
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


@pytest.fixture
def usual_signals() -> Iterator[None]:
    usual = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, answer in usual.items():
        signal.signal(number, answer)
    state.should_stop = None


def test_a_node_plays_an_order_between_two_signs_of_life(usual_signals: None) -> None:
    published: list[Report] = []
    this_node = Node(
        OWN, incarnation="first", publish=lambda report, queue: published.append(report)
    )
    this_node.open()
    this_node.play_order(make_order(20, game="skill_game", agents=LEVELS))
    this_node.play_order(make_order(20, game="skill_game", agents=LEVELS))
    this_node.close()
    alive, *reports = published
    assert isinstance(alive, Alive)
    assert (alive.node, alive.incarnation, alive.slots, alive.orders) == ("node-1", "first", 1, [])
    results = [report for report in reports if isinstance(report, Results)]
    assert sum(len(report.results) for report in results) == 40
    assert {row.ending for report in results for row in report.results} == {Ending.DONE}


def test_a_plugin_that_was_edited_is_reported_no_more_once_a_match_failed(
    usual_signals: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("games/my_game.py", "games/my_other.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("from arena.games.catalog.skill_game import GAME\n")
    monkeypatch.setenv(catalogs.PLUGINS, str(tmp_path))
    published: list[Report] = []
    this_node = Node(
        OWN, incarnation="first", publish=lambda report, queue: published.append(report)
    )
    this_node.open()
    own = catalogs.hash_plugin_files(["games"])["games/my_game"]
    # Players load it with their first order of it.
    (tmp_path / "games/my_game.py").write_text("from arena.games.catalog.hex import GAME\n")
    order = make_order(20, game="skill_game", agents=LEVELS)
    ended = this_node.play_order(msgspec.structs.replace(order, game="my_game", game_version=own))
    this_node.close()
    assert ended == {Ending.FAILED: 20}
    reported = [sorted(report.plugins or ()) for report in published if isinstance(report, Alive)]
    assert (reported[0], reported[-1]) == (["games/my_game", "games/my_other"], ["games/my_other"])


def test_a_node_names_the_order_that_it_has_in_hand() -> None:
    published: list[Report] = []

    def publish(report: Report, queue: str) -> None:
        published.append(this_node.sign_of_life())

    this_node = Node(OWN, incarnation="first", publish=publish)
    this_node._outbox.start()
    ended = this_node.play_order(make_order(3, game="skill_game", agents=LEVELS, duration_s=0.1))
    assert ended == {"done": 3}
    this_node.close()
    assert [ORDER] in [alive.orders for alive in published if isinstance(alive, Alive)]


def test_a_node_reports_the_programs_that_it_finds(caplog: pytest.LogCaptureFixture) -> None:
    programs = read_programs("cat=cat -u; gone=/no/such/program; far=http://127.0.0.1:1")
    own = replace(OWN, programs=programs)
    sign = Node(own, incarnation="first", publish=lambda *_: None).sign_of_life()
    assert sign.capabilities == ["cpu", "program.cat", "program.far"]
    assert "programs not found or away: gone" in caplog.text


def test_a_node_does_not_offer_a_program_whose_address_is_away() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = f"http://127.0.0.1:{server.getsockname()[1]}/decide"
        programs = read_programs(f"here={here}; far=http://127.0.0.1:1")
        this_node = Node(
            replace(OWN, programs=programs), incarnation="first", publish=lambda *_: None
        )
        this_node._addresses.look()
        assert this_node.sign_of_life().capabilities == ["cpu", "program.here"]


def test_what_is_known_of_the_pace_is_kept_per_game_and_bounded() -> None:
    this_node = Node(OWN, incarnation="first", publish=lambda report, queue: None)
    for n in range(node.MAX_PACES + 5):
        this_node._recall_pace(make_order(1, steps=n)).match_s = float(n)
    assert len(this_node._paces) == node.MAX_PACES
    assert this_node._recall_pace(make_order(1, steps=7)).match_s == 7.0
    assert this_node._recall_pace(make_order(1, steps=1)).match_s is None


def test_a_broken_order_is_logged_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    played: list[object] = []
    monkeypatch.setattr(node.Node, "play_order", lambda self, order: played.append(order))
    monkeypatch.setenv("REDIS_URL", OWN.redis_url)
    monkeypatch.setenv("EVALSITE_NODE_KEY", "7" * 64)
    wire = to_wire(make_order(1))
    assert tasks.play(wire | {"limits": {"move_s": "soon"}}) == {"refused": 1}
    assert "order refused" in caplog.text
    assert "$.limits.move_s" in caplog.text
    tasks.play(wire)
    assert played == [make_order(1)]
    node.this_node.cache_clear()


def test_the_app_takes_nothing_but_json_and_no_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", OWN.redis_url)
    monkeypatch.setenv("EVALSITE_NODE_KEY", "7" * 64)
    read = celery.read_configuration()
    assert read["broker_url"] == OWN.redis_url
    assert read["accept_content"] == ["json"]
    assert read["worker_enable_remote_control"] is False


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([], Stop.NO),
        ([signal.SIGTERM], Stop.SOON),
        ([signal.SIGTERM, signal.SIGTERM], Stop.SOON),
        ([signal.SIGINT], Stop.SOON),
        ([signal.SIGINT, signal.SIGINT], Stop.NOW),
        ([signal.SIGQUIT], Stop.NOW),
        ([signal.SIGQUIT, signal.SIGTERM], Stop.NOW),
    ],
)
def test_a_signal_says_how_soon_to_stop(
    usual_signals: None, sent: list[signal.Signals], expected: Stop
) -> None:
    stop_signals = StopSignals()
    stop_signals.install_handlers()
    for number in sent:
        os.kill(os.getpid(), number)
    assert stop_signals() is expected
    assert (vars(state)["should_stop"] == 0) == bool(sent)


def test_a_doorbell_goes_to_the_queue_of_its_shard(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    app = Celery(broker=broker.url, set_as_current=False)
    app.conf.broker_transport_options = OPTIONS
    publisher = Publisher(app)
    publisher.publish_doorbell(0, "1a")
    publisher.publish_doorbell(2, "2b")
    assert [broker.take("gpu"), broker.take("gpu.2")] == [
        ("inference.drain", [0, "1a"]),
        ("inference.drain", [2, "2b"]),
    ]
    broker.kill()


def test_a_shard_that_does_not_exist_is_not_rung(caplog: pytest.LogCaptureFixture) -> None:
    rung: list[tuple[int, str]] = []
    has_rung = threading.Event()

    def ring(shard: int, lease: str) -> None:
        rung.append((shard, lease))
        has_rung.set()

    own = replace(OWN, n_shards=2)
    this_node = Node(own, incarnation="first", publish=lambda report, queue: None, ring=ring)
    this_node._outbox.start()
    this_node._pass_doorbell_on(2, "1a")
    this_node._pass_doorbell_on(1, "2b")
    assert has_rung.wait(5)
    this_node._outbox.close(2)
    assert rung == [(1, "2b")]
    assert "rings for shard 2 of 2" in caplog.text


def test_a_publisher_comes_back_with_its_broker(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    app = Celery(broker=broker.url, set_as_current=False)
    app.conf.broker_transport_options = OPTIONS
    publisher = Publisher(app)
    alive = Alive("node-1", "first", 1, ["cpu"], {"python": "3.11"}, [], "key")
    publisher.publish_report(alive, "reports")
    publisher.publish_report(alive, "reports")
    broker.kill()
    began = time.monotonic()
    with pytest.raises(PublishError, match="Connection"):
        publisher.publish_report(alive, "reports")
    assert time.monotonic() - began < 5
    broker.start()
    publisher.publish_report(alive, "reports")
    wait_until(lambda: len(broker.read()) == 3, "what was sent is there")
    assert broker.reports == [alive] * 3
    broker.kill()
