"""What several tests of this app arrange."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from matches.ledger import planning


@pytest.fixture
def admin_client(db: None, client: Client) -> Client:
    """Log an admin in; without a password, whose hashing would take most of a test's time."""
    user = get_user_model().objects.create(username="admin", is_staff=True, is_superuser=True)
    client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def _own_checkpoints(settings: Any, tmp_path: Path) -> None:
    """Keep the files of each test apart: rows are rolled back, files are not."""
    backend = "django.core.files.storage.FileSystemStorage"
    own = {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "checkpoints": own}


@pytest.fixture(autouse=True)
def _plans_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one call plan all that waits, on a slow machine too, and without rests."""
    monkeypatch.setattr(planning, "PLAN_S", 3600.0)
    monkeypatch.setattr(planning, "MAX_REST_S", 0.0)


@pytest.fixture
def stored(tmp_path: Path) -> Callable[[], list[str]]:
    """Return the names of the checkpoint files that are stored."""
    return lambda: sorted(path.stem for path in tmp_path.glob("??/*"))
