"""Who may open a socket: pages of this site only."""

from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from redis import Redis

from evalsite.asgi import application
from matches.tests import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def _board(valkey_url: str) -> None:
    client = Redis.from_url(valkey_url)
    client.flushall()
    client.close()
    factories.planned()


@pytest.mark.usefixtures("_board")
@pytest.mark.parametrize(
    ("origin", "answer"),
    [
        ("http://127.0.0.1:8000", "websocket.accept"),
        ("https://localhost", "websocket.accept"),
        ("http://evil.example", "websocket.close"),
        ("http://127.0.0.1.evil.example", "websocket.close"),
        ("null", "websocket.close"),
        (None, "websocket.close"),
    ],
)
async def test_a_socket_is_for_pages_of_this_site(origin: str | None, answer: str) -> None:
    scope = {
        "type": "websocket",
        "path": "/ws/leaderboards/board/",
        "headers": [(b"origin", origin.encode())] if origin else [],
        "query_string": b"",
    }
    communicator: Any = ApplicationCommunicator
    viewer = communicator(application, scope)
    await viewer.send_input({"type": "websocket.connect"})
    assert (await viewer.receive_output(timeout=3))["type"] == answer
    await viewer.send_input({"type": "websocket.disconnect", "code": 1000})
    await viewer.wait(timeout=3)
