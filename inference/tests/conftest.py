"""A real Valkey with our functions, and threads that drain it."""

from collections.abc import Iterator

import pytest

from inference.tests.drainers import Drainers
from inference.tests.servers import Server


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.kill()


@pytest.fixture
def store(server: Server) -> Server:
    """Return the server, empty but for the functions."""
    server.empty()
    server.load()
    return server


@pytest.fixture
def drainers(store: Server) -> Iterator[Drainers]:
    drainers = Drainers(store)
    yield drainers
    drainers.close()
