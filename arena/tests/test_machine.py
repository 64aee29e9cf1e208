"""What a node says of its machine."""

import os
import platform
from pathlib import Path

import pytest

from arena.machine import (
    LabelError,
    measure_load,
    read_labels,
    read_machine_labels,
    read_versions,
)


def test_labels_are_pairs_of_name_and_value() -> None:
    labels = read_labels("class=spot, price = 0.35,zone=eu west,,note=a=b")
    assert labels == {"class": "spot", "price": "0.35", "zone": "eu west", "note": "a=b"}
    assert read_labels("") == {}


@pytest.mark.parametrize(
    ("text", "label", "rule"),
    [
        ("zone", "zone", "name=value"),
        ("zone=", "zone=", "name=value"),
        ("Zone=a", "Zone=a", "small letters"),
        ("zone=a\tb", "zone=a\tb", "printable"),
        (f"zone={'a' * 61}", f"zone={'a' * 61}", "up to 60"),
        ("class=spot,class=fast", "class=fast", "class is spot already"),
        ("price=cheap", "price=cheap", "a number from 0 on"),
        ("price=-1", "price=-1", "a number from 0 on"),
        ("price=inf", "price=inf", "a number from 0 on"),
    ],
)
def test_a_label_that_cannot_be_shown_is_refused_by_name(text: str, label: str, rule: str) -> None:
    with pytest.raises(LabelError) as refused:
        read_labels(text)
    assert refused.value.label == label
    assert rule in str(refused.value)


def test_so_many_labels_are_too_many() -> None:
    with pytest.raises(LabelError, match="20 labels at most, got 21"):
        read_labels(",".join(f"a{n}=1" for n in range(21)))


def test_the_load_is_per_core_and_of_what_memory_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  1000 kB\nMemFree:  10 kB\nMemAvailable:   250 kB\n")
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 9.0, 9.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert measure_load(meminfo) == {"cpu": 1.5, "memory": 0.75}


def test_what_the_system_does_not_tell_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "getloadavg")
    assert measure_load(tmp_path / "none") == {}


def test_class_and_price_have_variables_of_their_own() -> None:
    own = {"EVALSITE_CLASS": " spot ", "EVALSITE_PRICE": "0.35"}
    labels = {"class": "spot", "price": "0.35", "zone": "eu"}
    assert read_machine_labels(own | {"EVALSITE_LABELS": "zone=eu"}) == labels
    assert read_machine_labels(own | {"EVALSITE_LABELS": "zone=eu,class=spot"}) == labels
    assert read_machine_labels({"EVALSITE_CLASS": ""}) == {}


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"EVALSITE_CLASS": "spot", "EVALSITE_LABELS": "class=big"}, ("'spot'", "class=big")),
        ({"EVALSITE_PRICE": "1", "EVALSITE_LABELS": "price=2"}, ("'1'", "price=2")),
        ({"EVALSITE_PRICE": "cheap"}, ("'cheap'", "a number from 0 on")),
        ({"EVALSITE_CLASS": "spot,zone=b"}, ("'spot,zone=b'", "without a comma")),
    ],
)
def test_a_variable_that_contradicts_a_label_is_refused_with_both_values(
    environ: dict[str, str], words: tuple[str, ...]
) -> None:
    with pytest.raises(LabelError) as refused:
        read_machine_labels(environ)
    assert refused.value.variable == next(iter(environ))
    assert all(word in str(refused.value) for word in words)


def test_versions_are_those_of_python_and_of_installed_packages() -> None:
    versions = read_versions(("numpy", "no-such-package"))
    assert list(versions) == ["python", "numpy"]
    assert versions["python"] == platform.python_version()
