import pickle
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from redis import Redis

from matches.board import broadcast
from matches.tests.factories import later


class Planted:
    """What a hostile node would leave: unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.django_db
def test_a_pickle_in_the_fast_store_is_not_executed(broker: Redis, tmp_path: Path) -> None:
    written = tmp_path / "written"
    broker.set(cache.make_key("live:nodes"), pickle.dumps(Planted(written)))
    broadcast.push_due(now=later(0))
    assert cache.get("live:nodes") is not None
    assert not written.exists()


@pytest.mark.parametrize("value", [0, -7, True, None, "text", 1.5, [1, "a"], {"a": [None]}])
def test_plain_values_come_back(broker: Redis, value: object) -> None:
    cache.set("key", value)
    assert cache.get("key") == value


@pytest.mark.parametrize("stored", [b"\x80\x05garbage", b"[" * 100_000, b"{", b"\xff", b""])
def test_what_is_no_json_is_not_there(broker: Redis, stored: bytes) -> None:
    broker.set(cache.make_key("key"), stored)
    assert cache.get("key", "nothing") in (None, "nothing")


def test_numbers_can_still_be_counted_up(broker: Redis) -> None:
    cache.add("n", 0, timeout=10)
    assert [cache.incr("n"), cache.incr("n"), cache.get("n")] == [1, 2, 2]


def test_no_cache_of_ours_unpickles() -> None:
    caches: dict[str, Any] = settings.CACHES
    serializers = [options["OPTIONS"]["serializer"] for options in caches.values()]
    assert set(serializers) == {"evalsite.caching.JsonSerializer"}
