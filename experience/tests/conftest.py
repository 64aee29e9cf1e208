"""What several tests of this app arrange: a stream of its own, and files apart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from experience import learning


@pytest.fixture
def stream_server(broker: Redis, valkey_url: str, settings: Any) -> Iterator[Redis]:
    """Give an empty real Valkey that the settings name as the stream's."""
    settings.STREAM_REDIS_URL = valkey_url
    broker.function_flush("SYNC")
    yield broker
    broker.config_set("maxmemory", 0)


@pytest.fixture(autouse=True)
def _own_files(settings: Any, tmp_path: Path) -> None:
    backend = "django.core.files.storage.FileSystemStorage"
    own = {
        name: {"BACKEND": backend, "OPTIONS": {"location": str(tmp_path / folder)}}
        for name, folder in (
            ("experience", "segments"),
            ("training", "training"),
            ("checkpoints", "checkpoints"),
            ("trajectories", "trajectories"),
        )
    }
    settings.STORAGES = {**settings.STORAGES, **own}


@pytest.fixture(autouse=True)
def _forgotten_learning() -> None:
    """Let no test see what another has learned."""
    learning._kept.clear()
