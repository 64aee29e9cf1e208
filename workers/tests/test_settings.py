"""The environment of a play node."""

from collections.abc import Mapping

import pytest

from arena import needs
from workers.errors import SettingsError
from workers.settings import read_settings

KEY = {"EVALSITE_NODE_KEY": "7" * 64}
URL = {"REDIS_URL": "redis://:secret@127.0.0.1:1/0", **KEY}


def test_only_the_broker_and_the_key_must_be_given() -> None:
    own = read_settings(URL)
    assert own.redis_url == URL["REDIS_URL"]
    assert own.node
    assert own.slots >= 1
    assert (own.alive_s, own.report_s, own.notice_s) == (10.0, 1.0, 5.0)
    assert (own.n_shards, own.wait_s) == (1, 300.0)


def test_everything_can_be_set() -> None:
    own = read_settings(
        URL
        | {
            "EVALSITE_NODE": "node-7",
            "EVALSITE_SLOTS": "3",
            "EVALSITE_CAPABILITIES": "cpu, mujoco,GPU=8",
            "EVALSITE_ALIVE_S": "2",
            "EVALSITE_REPORT_S": "0.5",
            "EVALSITE_NOTICE_S": "60",
            "EVALSITE_SHARDS": "4",
            "EVALSITE_DEADLINE_MS": "400000",
        }
    )
    assert (own.n_shards, own.wait_s) == (4, 800.0)
    assert (own.node, own.slots, own.capabilities) == ("node-7", 3, ("cpu", "mujoco", "GPU=8"))
    assert (own.alive_s, own.report_s, own.notice_s) == (2.0, 0.5, 60.0)


@pytest.mark.parametrize(
    ("capabilities", "labels", "expected"),
    [
        ("cpu,spot", "price=0.35,zone=eu-1", {"class": "spot", "price": "0.35", "zone": "eu-1"}),
        ("cpu,spot", "class=reserved", {"class": "reserved"}),
        ("cpu", "", {}),
    ],
)
def test_a_machine_has_labels_and_spot_is_one_of_them(
    capabilities: str, labels: str, expected: Mapping[str, str]
) -> None:
    own = read_settings(URL | {"EVALSITE_CAPABILITIES": capabilities, "EVALSITE_LABELS": labels})
    assert (own.capabilities, own.labels) == (("cpu",), expected)


def test_a_node_that_is_only_called_spot_has_what_is_installed() -> None:
    own = read_settings(URL | {"EVALSITE_CAPABILITIES": "spot"})
    assert (own.capabilities, own.labels) == (needs.list_installed(), {"class": "spot"})


@pytest.mark.parametrize(("spec", "offered"), [(None, ("cpu",)), (object(), ("cpu", "torch"))])
def test_a_node_offers_torch_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, spec: object, offered: tuple[str, ...]
) -> None:
    monkeypatch.setattr(needs, "find_spec", lambda name: spec)
    monkeypatch.setattr(needs, "is_playable", lambda _: False)
    assert read_settings(URL).capabilities == offered


@pytest.mark.parametrize(
    ("environ", "name", "value"),
    [
        (KEY, "REDIS_URL", ""),
        (URL | {"REDIS_URL": "http://x"}, "REDIS_URL", "http://..."),
        (URL | {"REDIS_URL": "unix:///run/redis.sock"}, "REDIS_URL", "unix://..."),
        (URL | {"EVALSITE_NODE_KEY": ""}, "EVALSITE_NODE_KEY", "0 characters"),
        (URL | {"EVALSITE_NODE_KEY": "secret"}, "EVALSITE_NODE_KEY", "6 characters"),
        (URL | {"EVALSITE_SLOTS": "0"}, "EVALSITE_SLOTS", "0"),
        (URL | {"EVALSITE_SLOTS": "-1"}, "EVALSITE_SLOTS", "-1"),
        (URL | {"EVALSITE_SLOTS": "two"}, "EVALSITE_SLOTS", "two"),
        (URL | {"EVALSITE_SLOTS": "4097"}, "EVALSITE_SLOTS", "4097"),
        (URL | {"EVALSITE_SHARDS": "1025"}, "EVALSITE_SHARDS", "1025"),
        (URL | {"EVALSITE_DEADLINE_MS": "1.5"}, "EVALSITE_DEADLINE_MS", "1.5"),
        (URL | {"EVALSITE_ALIVE_S": "soon"}, "EVALSITE_ALIVE_S", "soon"),
        (URL | {"EVALSITE_REPORT_S": "0"}, "EVALSITE_REPORT_S", "0"),
        (URL | {"EVALSITE_NOTICE_S": "inf"}, "EVALSITE_NOTICE_S", "inf"),
        (URL | {"EVALSITE_NODE": "a\nb"}, "EVALSITE_NODE", "a\nb"),
        (URL | {"EVALSITE_CAPABILITIES": "cpu,,gpu"}, "EVALSITE_CAPABILITIES", ""),
        (URL | {"EVALSITE_LABELS": "zone=a,price=cheap"}, "EVALSITE_LABELS", "price=cheap"),
        (URL | {"EVALSITE_CAPABILITIES": "program.a"}, "EVALSITE_CAPABILITIES", "program.a"),
        (URL | {"EVALSITE_PROGRAMS": "a=b;a=c"}, "EVALSITE_PROGRAMS", "a"),
        (URL | {"EVALSITE_CAPABILITIES": "cpu,gpu"}, "EVALSITE_CAPABILITIES", "gpu"),
        (URL | {"EVALSITE_CAPABILITIES": "cpu,a b"}, "EVALSITE_CAPABILITIES", "a b"),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    environ: Mapping[str, str], name: str, value: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings(environ)
    assert (refused.value.name, refused.value.value) == (name, value)
    assert name in str(refused.value)


def test_the_password_of_a_wrong_address_is_not_shown() -> None:
    with pytest.raises(SettingsError) as refused:
        read_settings({"REDIS_URL": "amqp://me:secret@host"})
    assert "secret" not in str(refused.value)


def test_notices_are_off_and_their_address_is_the_usual_one() -> None:
    own = read_settings(URL)
    assert (own.notices, own.notices_url) == ("off", "http://169.254.169.254")
    set_ = {"EVALSITE_NOTICES": "aws", "EVALSITE_NOTICES_URL": "http://[fd00:ec2::254]"}
    own = read_settings(URL | set_ | {"EVALSITE_CLASS": "spot", "EVALSITE_PRICE": "0.1"})
    assert (own.notices, own.notices_url) == ("aws", "http://[fd00:ec2::254]")
    assert own.labels == {"class": "spot", "price": "0.1"}


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("EVALSITE_NOTICES", "oracle", "one of aws, gcp, azure, auto, off"),
        ("EVALSITE_NOTICES_URL", "https://a", "http://host:port"),
        ("EVALSITE_NOTICES_URL", "http://a/latest", "without a path"),
        ("EVALSITE_CLASS", "big", "class=spot"),
    ],
)
def test_a_wrong_variable_of_the_cloud_is_refused(variable: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as refused:
        read_settings(URL | {"EVALSITE_LABELS": "class=spot", variable: value})
    assert str(refused.value).startswith(f"{variable}={value!r}")
