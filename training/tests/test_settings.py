"""What a trainer is told by its environment."""

import pytest

from training.errors import SettingsError
from training.settings import Settings, read_settings

RIGHT = {
    "REDIS_URL": "redis://b:1",
    "STREAM_REDIS_URL": "redis://s:2",
    "EVALSITE_SITE_URL": "http://site/",
    "EVALSITE_NODE_KEY": "k",
    "EVALSITE_TRAINER": "trainer-2",
}


def test_it_knows_three_servers_its_name_and_its_key() -> None:
    expected = Settings("redis://b:1", "redis://s:2", "http://site", "trainer-2", "k")
    assert read_settings(RIGHT) == expected


def test_files_for_tensorboard_need_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {**RIGHT, "EVALSITE_TENSORBOARD": "/curves"}
    assert read_settings(environment).tensorboard == "/curves"
    monkeypatch.setattr("training.settings.find_spec", lambda _: None)
    assert read_settings(RIGHT).tensorboard == ""
    with pytest.raises(SettingsError, match=r"EVALSITE_TENSORBOARD .*tensorboardX is missing"):
        read_settings(environment)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_URL", ""),
        ("REDIS_URL", "unix:///run/redis.sock"),
        ("STREAM_REDIS_URL", "http://user:hidden@s"),
        ("EVALSITE_SITE_URL", "site"),
        ("EVALSITE_NODE_KEY", ""),
        ("EVALSITE_TRAINER", "a\nb"),
    ],
)
def test_a_wrong_one_is_named_without_its_password(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name) as refused:
        read_settings({**RIGHT, name: value})
    assert "hidden" not in str(refused.value)
