from collections.abc import Iterator

import pytest
from celery import Celery

from arena.messages import Alive
from inference.publisher import Publisher, PublishError
from inference.tests.servers import Server

ALIVE = Alive("gpu-1", "0" * 32, 1, ["gpu"], {}, [], "key")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()


@pytest.fixture
def publisher(server: Server) -> Publisher:
    server.empty()
    return Publisher(Celery(broker=server.url, set_as_current=False))


def test_a_doorbell_waits_in_the_queue_of_its_shard(server: Server, publisher: Publisher) -> None:
    publisher.publish_doorbell(0, "lease")
    publisher.publish_doorbell(3, "lease")
    assert (server.doorbells(0), server.doorbells(3)) == (1, 1)


def test_a_report_goes_to_the_recorder(server: Server, publisher: Publisher) -> None:
    publisher.publish_report(ALIVE)
    assert server.reports() == [ALIVE]


def test_a_broker_that_is_away_is_an_error_and_used_again_when_it_is_back(
    server: Server, publisher: Publisher
) -> None:
    publisher.publish_report(ALIVE)
    server.kill()
    try:
        with pytest.raises(PublishError):
            publisher.publish_doorbell(0, "lease")
    finally:
        server.start()
    publisher.publish_doorbell(0, "lease")
    assert server.doorbells() == 1
