"""`./run nodes`: the steps over all machines, and that it starts all or none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from launcher.cli import main
from launcher.nodes import remote, starting
from launcher.nodes.host_files import Host
from launcher.nodes.ssh import RemoteError, Ssh

NAMES = {
    getattr(remote, name): name.lower()
    for name in ("LOOK", "UNPACK", "INSTALL", "REACH", "START", "STOP", "STATUS")
}


class FakeMachines:
    """Answers the scripts; `failures` are by script and node."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.sent: dict[tuple[str, str], bytes] = {}
        self.failures: dict[tuple[str, str], str] = {}
        self.answers = {"start": "4711\n", "status": "running, pid 4711, for 01:02"}

    def run(
        self, _: Ssh, host: Host, script: str, *arguments: str, sent: bytes = b"", **__: Any
    ) -> str:
        call = (NAMES[script], host.name)
        self.calls.append(call)
        self.sent[call] = sent
        assert arguments[:2] == (f"evalsite-nodes/{host.name}", host.name)
        if reason := self.failures.get(call):
            raise RemoteError(host, reason)
        return self.answers.get(call[0], "stopped\n")


@pytest.fixture
def machines(monkeypatch: pytest.MonkeyPatch) -> FakeMachines:
    fake = FakeMachines()
    monkeypatch.setattr(Ssh, "run", lambda *each, **own: fake.run(*each, **own))
    return fake


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVALSITE_VAR", str(tmp_path))
    (tmp_path / "stack.env").write_text("EVALSITE_NODES=2\n")

    def admit(names: list[str], *_: Any) -> dict[str, dict[str, str]]:
        (tmp_path / "admitted").write_text(" ".join(names))
        return {name: {"REDIS_URL": "redis://h:1", "EVALSITE_NODE": name} for name in names}

    monkeypatch.setattr(starting, "admit_nodes", admit)
    monkeypatch.setattr(starting, "pack_cargo", lambda _: b"cargo")
    return tmp_path


@pytest.fixture
def call(var: Path) -> Callable[..., int]:
    (var / "ips.txt").write_text("me@h1 a\nme@h2 b\n")
    return lambda act, *own: main(["nodes", act, "--hosts", str(var / "ips.txt"), *own])


def test_each_step_ends_everywhere_before_the_next(
    call: Callable[..., int], machines: FakeMachines, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("start", "--concurrency", "3") == 0
    steps = [name for name, _ in machines.calls]
    assert list(dict.fromkeys(steps)) == ["look", "unpack", "install", "reach", "start"]
    assert steps == sorted(steps, key=list(dict.fromkeys(steps)).index)
    assert machines.sent["unpack", "b"] == b"cargo"
    assert b"EVALSITE_NODE=b\n" in machines.sent["start", "b"]
    assert b"EVALSITE_SLOTS=3\n" in machines.sent["start", "b"]
    assert capsys.readouterr().out.count("started, pid 4711") == 2


def test_a_python_that_has_the_packages_needs_no_installation(
    call: Callable[..., int], machines: FakeMachines
) -> None:
    assert call("start", "--python", "/opt/python") == 0
    assert "install" not in {name for name, _ in machines.calls}


@pytest.mark.parametrize("step", ["look", "unpack", "install", "reach"])
def test_one_machine_that_fails_before_the_start_starts_none(
    step: str,
    call: Callable[..., int],
    machines: FakeMachines,
    var: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    machines.failures = {(step, "b"): "its disk is full"}
    assert call("start") == 2
    assert capsys.readouterr().err == "b (me@h2): its disk is full\nnothing is started\n"
    assert not {"start", "stop"} & {name for name, _ in machines.calls}
    assert (var / "admitted").exists() == (step == "reach")


def test_one_machine_that_fails_at_the_start_has_the_others_stopped(
    call: Callable[..., int], machines: FakeMachines
) -> None:
    machines.failures = {("start", "b"): "the node ended at once"}
    assert call("start") == 2
    assert machines.calls[-1] == ("stop", "a")


def test_it_needs_a_stack_here_and_names_of_its_own(
    call: Callable[..., int],
    machines: FakeMachines,
    var: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (var / "ips.txt").write_text("me@h1 node-2\n")
    assert call("start") == 2
    assert "node-2 runs on this machine" in capsys.readouterr().err
    (var / "stack.env").unlink()
    assert call("start") == 2
    assert "./run up first" in capsys.readouterr().err
    assert machines.calls == []


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        (["--folder", "a b"], "--folder is 'a b'"),
        (["--folder", "../x"], "--folder is '../x'"),
        (["--ssh-config", "/none"], "there is no file /none"),
    ],
)
def test_what_is_no_folder_or_no_file_is_refused(
    own: list[str],
    reason: str,
    call: Callable[..., int],
    machines: FakeMachines,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("status", *own) == 2
    assert reason in capsys.readouterr().err
    assert machines.calls == []


def test_status_is_0_only_where_all_run(
    call: Callable[..., int], machines: FakeMachines, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("status") == 0
    machines.answers["status"] = "stopped"
    assert call("status") == 1
    machines.failures = {("status", "a"): "no such host"}
    capsys.readouterr()
    assert call("status") == 2
    printed = capsys.readouterr()
    assert "b " in printed.out
    assert printed.err == "a (me@h1): no such host\n"


def test_a_number_of_players_that_is_none_is_refused(
    call: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call("start", "--concurrency", "0")
    assert "'0' is no whole number, 1..4096" in capsys.readouterr().err
