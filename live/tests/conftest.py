"""A fast store of its own for every test of this app."""

from collections.abc import Iterator

import pytest
from redis import Redis


@pytest.fixture
def broker(valkey_url: str) -> Iterator[Redis]:
    """Give an empty real Valkey: broker, cache and channel layer at once."""
    client = Redis.from_url(valkey_url)
    client.flushall()
    yield client
    client.close()
