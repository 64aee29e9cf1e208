"""What players get from the node that starts them."""

import pytest

from workers import player_process
from workers.doorbells import BURST, PER_S, TokenBucket


def test_players_know_where_to_ask_networks_and_no_other_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("REDIS_URL", "FAST_REDIS_URL", "SECRET_KEY", "DATABASE_URL"):
        monkeypatch.setenv(name, "redis://:secret@127.0.0.1:1/0")
    variables = {
        "EVALSITE_INFERENCE_URL": "redis://play:word@127.0.0.1:2/0",
        "EVALSITE_SITE_URL": "http://127.0.0.1:8000",
        "EVALSITE_CACHE": "/var/cache/evalsite",
        "EVALSITE_DETERMINISTIC": "1",
        "EVALSITE_SHARDS": "2",
        "EVALSITE_DEADLINE_MS": "9000",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    environment = player_process.player_environment()
    assert variables.items() <= environment.items()
    assert not any("secret" in value for value in environment.values())


def test_a_player_may_ring_some_times_a_second() -> None:
    bucket = TokenBucket(now=0.0)
    assert [bucket.take_token(0.0) for _ in range(int(BURST) + 1)] == [True] * int(BURST) + [False]
    assert [bucket.take_token(2 / PER_S) for _ in range(3)] == [True, True, False]
    assert sum(bucket.take_token(1e9) for _ in range(1000)) == BURST
