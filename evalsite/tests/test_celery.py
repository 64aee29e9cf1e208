import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from celery import Celery, current_app
from kombu.exceptions import OperationalError

from evalsite.celery import app


def test_only_json_is_accepted_and_no_result_is_kept() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_ignore_result
    assert app.conf.result_backend is None


def test_the_broker_never_delivers_a_message_twice_by_itself() -> None:
    assert app.conf.broker_transport_options["ack_emulation"] is False
    assert app.conf.task_acks_on_failure_or_timeout
    assert not app.conf.task_reject_on_worker_lost


@pytest.mark.parametrize(
    ("task", "queue"), [("matches.record", "reports"), ("matches.tick", "control")]
)
def test_reports_have_a_queue_of_their_own(task: str, queue: str) -> None:
    assert app.amqp.router.route({}, task)["queue"].name == queue


def test_a_broker_that_refuses_is_an_error_at_once() -> None:
    nowhere = Celery(broker="redis://127.0.0.1:1/0", set_as_current=False)
    nowhere.conf.broker_transport_options = app.conf.broker_transport_options
    started = time.monotonic()
    with pytest.raises(OperationalError):
        nowhere.send_task("matches.tick", queue="control", retry=False)
    assert time.monotonic() - started < 2


def test_every_wait_for_the_broker_is_bounded() -> None:
    options = app.conf.broker_transport_options
    assert 0 < options["socket_connect_timeout"] <= 5
    assert 0 < options["socket_timeout"] <= 10


def test_every_thread_publishes_with_our_app() -> None:
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: current_app.main).result() == "evalsite"
    assert current_app.main == "evalsite"


def test_nobody_answers_flower_through_lists_that_would_stay_in_the_broker_for_ever() -> None:
    # An answer that came after Flower had gone was left as x.reply.celery.pidbox, without expiry.
    assert app.conf.worker_enable_remote_control is False
