from pathlib import Path

import pytest

from inference.errors import SettingsError
from inference.settings import Settings, read_settings, read_worker_settings

URLS = {"REDIS_URL": "redis://broker", "FAST_REDIS_URL": "redis://fast"}
KEY = {"EVALSITE_NODE_KEY": "7" * 64}


def test_an_empty_environment_means_the_defaults() -> None:
    own = read_settings({})
    assert own == Settings(gpu=own.gpu, node=own.node)
    assert own.gpu.startswith("gpu@")


def test_every_variable_is_read_settings() -> None:
    own = read_settings(
        {
            **URLS,
            "EVALSITE_SITE_URL": "https://site.example/",
            "EVALSITE_CACHE": "/cache",
            "EVALSITE_GPU": "gpu-7",
            "EVALSITE_SHARDS": "4",
            "EVALSITE_SERVES": "3, 1",
            "EVALSITE_MAX_BATCH_SIZE": "64",
            "EVALSITE_MAX_WAIT_MS": "5",
            "EVALSITE_DETERMINISTIC": "1",
            "EVALSITE_PRECISION": "bfloat16",
            "EVALSITE_COMPILE": "graphs",
            "EVALSITE_DEVICE": "cpu",
        }
    )
    assert (own.redis_url, own.fast_url) == ("redis://broker", "redis://fast")
    assert (own.site_url, own.cache, own.gpu) == ("https://site.example", Path("/cache"), "gpu-7")
    assert (own.n_shards, own.serves) == (4, (1, 3))
    assert (own.max_batch_size, own.max_wait_ms, own.is_deterministic) == (64, 5, True)
    assert (own.precision, own.compile, own.device) == ("bfloat16", "graphs", "cpu")


def test_a_worker_of_several_shards_serves_all_unless_told() -> None:
    assert read_settings({"EVALSITE_SHARDS": "3"}).serves == (0, 1, 2)


def test_a_player_has_the_address_with_few_rights() -> None:
    assert read_settings({"EVALSITE_INFERENCE_URL": "redis://few"}).fast_url == "redis://few"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", "http://elsewhere"),
        ("REDIS_URL", "unix:///run/redis.sock"),
        ("EVALSITE_SITE_URL", "ftp://site"),
        ("EVALSITE_GPU", "new\nline"),
        ("EVALSITE_GPU", "x" * 201),
        ("EVALSITE_NODE", "node:*"),
        ("EVALSITE_NODE", "x" * 61),
        ("EVALSITE_SHARDS", "0"),
        ("EVALSITE_SERVES", "1"),
        ("EVALSITE_SERVES", "a"),
        ("EVALSITE_MAX_BATCH_SIZE", "-1"),
        ("EVALSITE_MAX_WAIT_MS", "0.5"),
        ("EVALSITE_DEADLINE_MS", "0"),
        ("EVALSITE_DEVICE", "tpu"),
        ("EVALSITE_DETERMINISTIC", "yes"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_do(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is .*: must be"):
        read_settings({name: value})


def test_an_address_is_not_shown_with_its_password() -> None:
    with pytest.raises(SettingsError) as caught:
        read_settings({"REDIS_URL": "amqp://user:secret@host"})
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("missing", URLS | KEY)
def test_a_worker_needs_both_servers_and_its_key(missing: str) -> None:
    environ = {name: url for name, url in (URLS | KEY).items() if name != missing}
    with pytest.raises(SettingsError, match=missing):
        read_worker_settings(environ)
    assert read_worker_settings(URLS | KEY).redis_url == "redis://broker"
