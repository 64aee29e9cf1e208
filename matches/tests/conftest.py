"""A broker of its own for every test of this app."""

from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from redis import Redis


@pytest.fixture
def broker(valkey_url: str) -> Iterator[Redis]:
    """Give an empty real broker."""
    client = Redis.from_url(valkey_url)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def admin_client(db: None, client: Client) -> Client:
    """Log an admin in; without a password, whose hashing would take most of a test's time."""
    user = get_user_model().objects.create(username="admin", is_staff=True, is_superuser=True)
    client.force_login(user)
    return client
