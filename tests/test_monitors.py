"""Flower shows what a message is about and what came of it, never a token or a signed link."""

import json
import re
from typing import Any, NoReturn

import pytest
from celery import Celery
from celery.exceptions import Retry
from redis import Redis

from arena.message_tokens import order_token
from arena.messages import Checked, CheckOrder, Started, to_wire
from inference import node
from inference.errors import UnavailableError
from inference.publisher import Publisher as GpuPublisher
from inference.tasks import check
from matches import dispatch, tasks
from matches.artifacts import checkpoint_checks
from matches.ledger import recorder_marks
from matches.models import Checkpoint, Tournament
from matches.store.signing import derive_tournament_key
from matches.tests import factories
from matches.tests.factories import NOW
from workers.publisher import Publisher as NodePublisher

pytestmark = pytest.mark.django_db

SECRET = re.compile(r"signature=|\b[0-9a-f]{32}\b|token")
ORDER = "0" * 31 + "1"


def _describe_next(broker: Redis, queue: str) -> str:
    """Return what monitors are shown of the next message of a queue."""
    raw = broker.rpop(queue)
    assert isinstance(raw, bytes)
    headers = json.loads(raw)["headers"]
    return f"{headers['argsrepr']} {headers['kwargsrepr']}"


@pytest.fixture
def app(valkey_url: str, broker: Redis) -> Celery:
    app = Celery(broker=valkey_url, set_as_current=False)
    app.conf.broker_transport_options = {"ack_emulation": False}
    return app


def test_orders_are_shown_by_their_name(broker: Redis) -> None:
    order = factories.ordered(factories.planned(6))
    dispatch.publish_order(order, "play.node-1")
    text = _describe_next(broker, "play.node-1")
    assert text == f"(order {order.order}, 6 matches of skill_game) {{}}"
    for token in (order.token, *(row.token for row in order.matches)):
        assert token not in text


def test_marks_and_checks_are_shown_without_tokens_and_links(broker: Redis) -> None:
    recorder_marks.send_marks(now=NOW)
    assert _describe_next(broker, "reports") == f"(mark of {NOW.isoformat()}) {{}}"
    Checkpoint.objects.create(
        sha256="ab" * 32,
        game="connect_four",
        architecture="mlp",
        run="run",
        source_name="a",
        n_bytes=1,
        created_at=NOW,
    )
    factories.alive(node="gpu-1", capabilities=["gpu"])
    assert checkpoint_checks.order_due_checks(now=NOW) == 1
    text = _describe_next(broker, "gpu")
    assert text == f"(checkpoint {'ab' * 32} of connect_four) {{}}"
    assert not SECRET.search(text)


def test_wake_ups_have_nothing_to_show(broker: Redis) -> None:
    dispatch.wake_relay()
    assert _describe_next(broker, "control") == "() {}"


def test_reports_of_nodes_are_shown_by_what_they_say(broker: Redis, app: Celery) -> None:
    publisher = NodePublisher(app)
    publisher.publish_report(Started("node-1", "life", ORDER, "7" * 32, "8" * 64), "reports")
    assert _describe_next(broker, "reports") == f"(node-1 has started order {ORDER}) {{}}"
    publisher.publish_doorbell(0, "lease")
    assert _describe_next(broker, "gpu") == "(0, 'lease') {}"


def test_verdicts_of_gpu_workers_are_shown_without_their_token(broker: Redis, app: Celery) -> None:
    publisher = GpuPublisher(app)
    publisher.publish_report(Checked("gpu-1", "ab" * 32, "7" * 32, "", 1, 0, 0.1))
    assert _describe_next(broker, "reports") == f"(checkpoint {'ab' * 32} is ready) {{}}"
    publisher.publish_doorbell(0, "lease")
    assert _describe_next(broker, "gpu") == "(0, 'lease') {}"


def test_a_check_that_is_tried_again_shows_no_token_either(
    broker: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> NoReturn:
        raise UnavailableError("the web server does not answer")

    monkeypatch.setattr(node, "this_worker", away)
    order = CheckOrder("ab" * 32, "/files/x?signature=feed", "7" * 32, "chess", 7, [2], "8" * 64)
    where = {"exchange": "", "routing_key": "gpu"}
    arguments = [to_wire(order)]
    task: Any = check
    task.push_request(id="1", args=arguments, kwargs={}, delivery_info=where, called_directly=False)
    with pytest.raises(Retry):
        task.run(*arguments)
    task.pop_request()
    assert _describe_next(broker, "gpu") == "(a checkpoint, again) {}"


def test_the_recorder_says_what_a_report_changed(broker: Redis) -> None:
    order = factories.ordered(factories.planned(4))
    wire: dict[str, Any] = {
        "kind": "started",
        "node": "node-1",
        "incarnation": "life",
        "order": order.order,
        "token": order_token(derive_tournament_key(Tournament.objects.get()), order.order),
        "key": factories.key_of("node-1"),
    }
    assert tasks.record(wire) == {}
    assert tasks.record({"kind": "nothing"}) == {"n_refused": 1}
