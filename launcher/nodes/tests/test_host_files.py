"""Which machines a host file names, and every line that names none."""

from pathlib import Path

import pytest

from launcher.errors import SetupError
from launcher.nodes.host_files import Host, read_hosts


def write(folder: Path, text: str) -> Path:
    path = folder / "ips.txt"
    path.write_text(text)
    return path


def test_a_line_is_a_machine_and_a_name(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "# ours\n\nme@10.0.0.1\nme@10.0.0.2:2222 fast-1  # big\nspot.example\n[fd00::1]:23\n",
    )
    assert read_hosts(path) == [
        Host("10.0.0.1", "10.0.0.1", "me"),
        Host("fast-1", "10.0.0.2", "me", 2222),
        Host("spot.example", "spot.example"),
        Host("fd00--1", "fd00::1", "", 23),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("-oProxyCommand=touch", "is no machine"),
        ("me@-oProxyCommand=touch", "is no machine"),
        ("-l@host", "is no machine"),
        ("me@host:0", "is no machine"),
        ("me@host:65536", "is no machine"),
        ("me@host:ssh", "is no machine"),
        ("me@@host", "is no machine"),
        ("me@ho;st", "is no machine"),
        ("me@host a b", "is no machine"),
        ("me@host n@me", "'n@me' is no name of a node: 1 to 60"),
        (f"me@host {'x' * 61}", "is no name of a node"),
    ],
)
def test_a_line_that_names_no_machine_is_refused_with_its_number(
    tmp_path: Path, line: str, reason: str
) -> None:
    path = write(tmp_path, f"me@host-1\n{line}\n")
    with pytest.raises(SetupError, match=reason) as refused:
        read_hosts(path)
    assert str(refused.value).startswith(f"{path}:2: ")


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a@b@c\nme@host-1 sim\nme@host-2 sim\n;\n")
    with pytest.raises(SetupError) as refused:
        read_hosts(path)
    assert str(refused.value).splitlines() == [
        f"{path}:1: 'a@b@c' is no machine: write user@host, user@host:port or user@[IPv6]:port, "
        "then perhaps a name",
        f"{path}:4: ';' is no machine: write user@host, user@host:port or user@[IPv6]:port, "
        "then perhaps a name",
        f"{path}: the name sim stands for me@host-1 and for me@host-2: "
        "give each node a name of its own, behind its host",
    ]


@pytest.mark.parametrize("text", ["", "# nobody\n\n"])
def test_a_file_without_a_machine_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SetupError, match="names no machine"):
        read_hosts(write(tmp_path, text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"cannot be read \(No such file or directory\)"):
        read_hosts(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match="it is no text"):
        read_hosts(tmp_path / "bytes.txt")
