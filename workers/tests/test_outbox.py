"""Reports on their way to a broker that comes and goes."""

import threading

import pytest

from arena.messages import Alive, Report, Started
from workers.errors import PublishError
from workers.outbox import BACKOFF_S, Outbox, OutboxThread

ALIVE = Alive("n", "i", 1, ["cpu"], {}, [], "k")


def started(n: int) -> Started:
    return Started("n", "i", f"{n:032x}", "t", "k")


class Broker:
    """Takes reports while it is up."""

    def __init__(self) -> None:
        self.is_up = True
        self.taken: list[Report] = []
        self.queues: list[str] = []

    def publish(self, report: Report, queue: str) -> None:
        if not self.is_up:
            raise PublishError("refused")
        self.taken.append(report)
        self.queues.append(queue)

    @property
    def orders(self) -> list[int]:
        return [int(r.order, 16) for r in self.taken if isinstance(r, Started)]


@pytest.fixture
def broker() -> Broker:
    return Broker()


def outbox(broker: Broker) -> Outbox:
    return Outbox(broker.publish, lambda: ALIVE, alive_s=10, now=0.0)


def test_a_sign_of_life_goes_out_first_and_then_at_its_interval(broker: Broker) -> None:
    box = outbox(broker)
    assert box.send_due(0.0) == 10
    assert box.send_due(4.0) == 6
    assert box.send_due(10.5) == 10
    assert broker.taken == [ALIVE, ALIVE]


def test_reports_go_out_in_order(broker: Broker) -> None:
    box = outbox(broker)
    for n in range(3):
        box.add_report(started(n), queue="reports.2", until=60)
    box.send_due(0.0)
    assert broker.orders == [0, 1, 2]
    assert broker.queues == ["reports", *["reports.2"] * 3]
    assert len(box) == 0


def test_reports_are_kept_and_sent_once_when_the_broker_is_back(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    box = outbox(broker)
    box.send_due(0.0)
    broker.is_up = False
    box.add_report(started(1), queue="reports.2", until=60)
    assert box.send_due(1.0) == BACKOFF_S
    box.add_report(started(2), queue="reports.2", until=60)
    assert box.send_due(1.1) == pytest.approx(BACKOFF_S - 0.1)
    box.send_due(20.0)
    broker.is_up = True
    box.send_due(21.0)
    box.send_due(21.1)
    assert broker.orders == [1, 2]
    assert [record.message[:30] for record in caplog.records] == [
        "1 reports wait until the broke",
        "the broker takes reports again",
    ]


def test_a_report_that_waited_too_long_is_given_up_loudly(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    box = outbox(broker)
    broker.is_up = False
    box.add_report(started(1), queue="reports.2", until=5)
    box.add_report(started(2), queue="reports.2", until=60)
    box.send_due(6.0)
    broker.is_up = True
    box.send_due(7.0)
    assert broker.orders == [2]
    assert "1 reports given up" in caplog.text


def test_doorbells_go_out_before_reports_and_also_while_reports_wait(broker: Broker) -> None:
    rung: list[tuple[int, str]] = []
    box = Outbox(broker.publish, lambda: ALIVE, alive_s=10, now=0.0, ring=lambda *r: rung.append(r))
    broker.is_up = False
    box.add_report(started(1), queue="reports.2", until=60)
    box.add_doorbell(2, "1a")
    box.send_due(0.0)
    assert rung == [(2, "1a")]
    box.add_doorbell(0, "2b")
    assert box.send_due(0.1) == pytest.approx(BACKOFF_S - 0.1)
    assert rung == [(2, "1a"), (0, "2b")]


def test_a_doorbell_that_cannot_be_sent_is_dropped_and_reports_go_on(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(shard: int, lease: str) -> None:
        raise PublishError("no such user")

    box = Outbox(broker.publish, lambda: ALIVE, alive_s=10, now=0.0, ring=refuse)
    box.add_report(started(1), queue="reports.2", until=60)
    box.add_doorbell(2, "1a")
    box.send_due(0.0)
    box.send_due(0.1)
    assert broker.orders == [1]
    assert caplog.text.count("doorbell of the gpu queue was not sent: no such user") == 1


def test_the_thread_rings_at_once(broker: Broker) -> None:
    has_rung = threading.Event()
    outbox = OutboxThread(
        broker.publish, lambda: ALIVE, alive_s=100, ring=lambda shard, lease: has_rung.set()
    )
    outbox.start()
    outbox.post_doorbell(0, "1a")
    assert has_rung.wait(5)
    outbox.close(5)


def test_the_thread_sends_what_is_posted_and_what_waits_at_the_end(broker: Broker) -> None:
    has_sent = threading.Event()

    def publish(report: Report, queue: str) -> None:
        broker.publish(report, queue)
        has_sent.set()

    outbox = OutboxThread(publish, lambda: ALIVE, alive_s=100)
    outbox.start()
    assert has_sent.wait(5)
    for n in range(50):
        outbox.post_report(started(n), queue="reports", keep_s=60)
    outbox.close(5)
    assert broker.orders == list(range(50))


def test_closing_does_not_wait_for_a_broker_that_is_away(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    broker.is_up = False
    outbox = OutboxThread(broker.publish, lambda: ALIVE, alive_s=100)
    outbox.start()
    outbox.post_report(started(1), queue="reports", keep_s=60)
    outbox.close(0.1)
    assert "1 reports could not be sent" in caplog.text
    broker.is_up = True
    outbox.close(5)


def test_closing_a_courier_that_never_started_is_no_error(broker: Broker) -> None:
    OutboxThread(broker.publish, lambda: ALIVE, alive_s=100).close(1)
    assert broker.taken == []
