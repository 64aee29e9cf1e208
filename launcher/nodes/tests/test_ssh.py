"""What ssh says, in one line that names the machine and what to do."""

import subprocess
from typing import Any

import pytest

from launcher.errors import SetupError
from launcher.nodes.host_files import Host
from launcher.nodes.ssh import RemoteError, Ssh, explain_failure

HOST = Host("sim", "10.0.0.1", "me", 2222)


@pytest.mark.parametrize(
    ("status", "output", "reason"),
    [
        (255, "ssh: Could not resolve hostname nope: Name or service not known", "no such host"),
        (255, "me@10.0.0.1: Permission denied (publickey).", "ssh-copy-id me@10.0.0.1 -p 2222"),
        (255, "Host key verification failed.", "by hand once: ssh me@10.0.0.1 -p 2222"),
        (
            255,
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
            "ssh-keygen -R '[10.0.0.1]:2222'",
        ),
        (255, "ssh: connect to host 10.0.0.1 port 2222: Connection refused", "port 2222: is sshd"),
        (
            255,
            "ssh: connect to host 10.0.0.1 port 2222: Connection timed out",
            "port 2222: is it on",
        ),
        (255, "ssh: connect to host x port 22: No route to host", "there is no way to it"),
        (1, "tar: code/a: Cannot write: No space left on device", "its disk is full"),
        (1, "mkdir: cannot create directory '/x': Permission denied", "it may not write there"),
        (1, "mkdir: cannot create directory '/x': Read-only file system", "its disk is read-only"),
        (1, "one\nits own line\n", "its own line"),
        (1, "the broker at h:1 cannot be reached from there (Connection refused)", "the broker"),
        (3, "", "it ended with 3"),
        (255, "kex_exchange: \x1b[31mreset", "ssh: kex_exchange: ?[31mreset"),
    ],
)
def test_each_failure_is_one_line_that_says_what_to_do(
    status: int, output: str, reason: str
) -> None:
    line = explain_failure(HOST, status, output)
    assert reason in line
    assert line.isprintable()


def test_the_usual_port_is_not_shown() -> None:
    line = explain_failure(Host("sim", "host", "me"), 255, "Permission denied (publickey).")
    assert line == "it refuses our key: ssh-copy-id me@host"


def test_what_is_sent_stands_in_no_word_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[list[str], Any]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        calls.append((command, options))
        return subprocess.CompletedProcess(command, 0, b"4711\n", b"")

    monkeypatch.setattr(subprocess, "run", run)
    assert Ssh().run(HOST, "cat", "a b", sent=b"KEY=secret") == "4711\n"
    ((command, options),) = calls
    words = ["-l", "me", "-p", "2222", "--", "10.0.0.1", "sh -c cat sh 'a b'"]
    assert command[-len(words) :] == words
    assert options["input"] == b"KEY=secret"
    assert "BatchMode=yes" in command


def test_a_machine_that_hangs_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        raise subprocess.TimeoutExpired(command, 60)

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(RemoteError, match=r"^sim \(me@10\.0\.0\.1:2222\): has not answered within"):
        Ssh().run(HOST, "cat")


def test_without_ssh_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SetupError, match="openssh-client"):
        Ssh().run(HOST, "cat")
