"""What several tests of this app arrange."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client


@pytest.fixture
def admin_client(db: None, client: Client) -> Client:
    """Log an admin in; without a password, whose hashing would take most of a test's time."""
    user = get_user_model().objects.create(username="admin", is_staff=True, is_superuser=True)
    client.force_login(user)
    return client
