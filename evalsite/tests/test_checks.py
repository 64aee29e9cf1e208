from pathlib import Path

import pytest
from django.core.checks import run_checks
from pytest_django.fixtures import Settings


def list_ids() -> list[str | None]:
    return [message.id for message in run_checks(tags=["evalsite"])]


def test_good_settings_pass() -> None:
    assert list_ids() == []


def test_the_development_key_is_refused_outside_development(settings: Settings) -> None:
    settings.SECRET_KEY = settings.INSECURE_SECRET_KEY
    settings.DEBUG = False
    assert list_ids() == ["evalsite.E001"]
    settings.DEBUG = True
    assert list_ids() == []


def test_a_missing_data_folder_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.VAR = tmp_path / "missing"
    assert list_ids() == ["evalsite.E002"]


def test_a_storage_that_cannot_be_made_is_refused(settings: Settings) -> None:
    settings.STORAGES = settings.STORAGES | {"checkpoints": {"BACKEND": "no.such.Storage"}}
    assert list_ids() == ["evalsite.E004"]


def test_servers_without_users_of_ours_are_warned_about(settings: Settings) -> None:
    settings.EVALSITE_UNENFORCED = ["broker"]
    assert list_ids() == ["evalsite.W001"]


@pytest.mark.parametrize(
    ("url", "is_refused"),
    [
        ("", False),
        ("redis://evalsite-web:p@host:1/0", False),
        ("redis://other:q@host:2/5", True),
        ("redis://host:3/0", True),
    ],
)
def test_a_stream_on_the_server_of_the_queues_is_refused(
    url: str, is_refused: bool, settings: Settings
) -> None:
    settings.REDIS_URL, settings.FAST_REDIS_URL = "redis://a:b@host:2/0", "redis://host:3/0"
    settings.STREAM_REDIS_URL = url
    assert list_ids() == (["evalsite.E003"] if is_refused else [])


def test_an_address_that_cannot_be_read_is_refused(settings: Settings) -> None:
    settings.REDIS_URL, settings.STREAM_REDIS_URL = "redis://host:port", "redis://host:1"
    assert list_ids() == ["evalsite.E005"]
    settings.STREAM_REDIS_URL = ""
    assert list_ids() == []


def test_https_without_a_proxy_that_speaks_it_is_warned_of(settings: Settings) -> None:
    settings.EVALSITE_HTTPS = True
    assert list_ids() == ["evalsite.W002"]
    settings.EVALSITE_PROXIES = 1
    assert list_ids() == []
