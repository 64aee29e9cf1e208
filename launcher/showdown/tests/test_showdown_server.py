"""The commands of `./run showdown`, with a program in place of Node.js."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launcher import cli
from launcher.foreground import Interruption
from launcher.showdown import home
from launcher.showdown.server import SHOWDOWN
from launcher.standalone import commands
from launcher.standalone.service import RunningService, launch
from launcher.tools import PINNED, hash_packages

# Says what a server of Showdown says to whoever connects, until it is ended.
SERVER = """\
import sys
from websockets.sync.server import serve

def greet(socket):
    socket.send("|updateuser| Guest 1")
    socket.send("|challstr|4|abc")
    socket.recv()

serve(greet, "127.0.0.1", int(sys.argv[-1])).serve_forever()
"""


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a data folder in which the tool is installed; end the server that it has started."""
    folder = tmp_path / "var"
    package = folder / "tools" / "showdown" / home.PACKAGE
    (package / "dist" / "server").mkdir(parents=True)
    (package / "config").mkdir()
    (package / "dist" / "server" / "index.js").write_text("the server")
    (package / "dist" / "server" / "index.js.map").write_text("its map")
    (package / "config" / "config-example.js").write_text("exports.port = 8000;\n")
    marker = folder / "tools" / "showdown" / "installed"
    marker.write_text(hash_packages(PINNED / "showdown"))
    monkeypatch.setenv("EVALSITE_VAR", str(folder))
    # A signal of the terminal is for the process that is tested, not for pytest.
    quiet = SimpleNamespace(is_asked=False, is_raising=True)
    monkeypatch.setattr(commands, "Interruption", lambda: quiet)
    yield folder
    commands.stop_server(SHOWDOWN)


@pytest.fixture
def node(var: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the program that stands for Node.js."""
    folder = var.parent / "bin"
    folder.mkdir()
    (folder / "server.py").write_text(SERVER)
    program = folder / "node"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {folder / "server.py"} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return program


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(*words: str) -> int:
    return cli.main(["showdown", *words])


def test_a_server_is_started_asked_and_stopped(
    var: Path, node: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("start", "--port", str(port)) == 0
    url = f"ws://127.0.0.1:{port}/showdown/websocket"
    assert f"It answers at {url}" in capsys.readouterr().out
    record = SHOWDOWN.read_record(var)
    assert record
    assert record.process
    assert run("status") == 0
    output = capsys.readouterr().out
    assert f"Pokemon Showdown answers at {url}" in output
    assert f"pid {record.pid}" in output
    assert "1 processes" in output
    assert run("start", "--port", str(port)) == 1
    assert "runs here already" in capsys.readouterr().out
    assert run("stop") == 0
    assert f"stopped (pid {record.pid})" in capsys.readouterr().out
    assert record.process is None
    assert run("stop") == 0
    assert run("status") == 1
    assert "no server of Pokemon Showdown runs" in capsys.readouterr().out


def test_no_proxy_is_asked_for_the_server(
    var: Path, node: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("start", "--port", str(port)) == 0
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert run("status") == 0


def test_its_folder_shares_the_package_and_owns_what_it_writes(var: Path, port: int) -> None:
    tool, folder = var / "tools" / "showdown", var / "showdown" / "server"
    home.make_home(tool, folder)
    home.write_config(folder, port=port, simulators=2)
    config = (folder / "config" / "config.js").read_text()
    for setting in ("bindaddress = '127.0.0.1'", "repl = false", "watchconfig = false"):
        assert setting in config
    assert f"exports.port = {port};" in config
    assert "simulator: 2" in config
    shared = folder / "dist" / "server" / "index.js"
    assert shared.samefile(tool / home.PACKAGE / "dist" / "server" / "index.js")
    assert not shared.with_name("index.js.map").exists()
    example = folder / "config" / "config-example.js"
    assert not example.samefile(tool / home.PACKAGE / "config" / "config-example.js")
    assert (folder / "logs" / "modlog").is_dir()
    # Another version of the tool takes the place of the old one, and what was written stays.
    (folder / "config" / "chatrooms.json").write_text("[]")
    (tool / "installed").write_text("another")
    (tool / home.PACKAGE / "dist" / "server" / "index.js").unlink()
    (tool / home.PACKAGE / "dist" / "server" / "index.js").write_text("the next server")
    home.make_home(tool, folder)
    assert shared.read_text() == "the next server"
    assert (folder / "config" / "chatrooms.json").exists()


def test_a_server_that_dies_while_starting_is_told_with_the_end_of_its_log(
    var: Path, node: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    node.write_text("#!/bin/sh\necho begins\necho 'Error: no room left' >&2\nexit 7\n")
    assert run("start", "--port", str(port)) == 1
    errors = capsys.readouterr().err
    assert "does not run: it ended" in errors
    assert "Error: no room left" in errors
    assert not SHOWDOWN.record_path(var).exists()


def test_a_server_that_has_died_since_is_told_by_status(
    var: Path, node: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("start", "--port", str(port)) == 0
    record = SHOWDOWN.read_record(var)
    assert record
    process = record.process
    assert process
    process.kill()
    process.wait(10)
    assert run("status") == 1
    assert f"pid {record.pid} is gone" in capsys.readouterr().out


def test_whoever_gives_up_waiting_leaves_no_server_behind(
    var: Path, node: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = []

    def interrupt(_: object, running: RunningService, *__: object) -> None:
        processes.append(running.process)
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "wait_until_it_answers", interrupt)
    assert run("start", "--port", str(port)) == 130
    assert processes[0]
    assert not processes[0].is_running()
    assert not SHOWDOWN.record_path(var).exists()


def test_whoever_is_ended_in_the_middle_of_the_launch_leaves_no_server_behind(
    var: Path, node: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[RunningService] = []

    def launch_and_be_ended(*what: Any) -> RunningService:
        launched.append(launch(*what))
        os.kill(os.getpid(), signal.SIGTERM)
        return launched[0]

    monkeypatch.setattr(commands, "launch", launch_and_be_ended)
    monkeypatch.setattr(commands, "Interruption", Interruption)
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    try:
        assert run("start", "--port", str(port)) == 130
    finally:
        for number, reaction in zip(numbers, before, strict=True):
            signal.signal(number, reaction)
    assert launched[0].process is None
    assert not SHOWDOWN.record_path(var).exists()


def test_a_busy_port_is_named_with_who_has_it(
    var: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        busy = taken.getsockname()[1]
        assert run("start", "--port", str(busy)) == 2
    errors = capsys.readouterr().err
    assert f"port {busy} is in use by pid {os.getpid()}" in errors
    assert "--port" in errors
    assert errors.count("\n") == 1


def test_without_the_tool_it_says_what_to_type(
    var: Path, node: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (var / "tools" / "showdown" / "installed").unlink()
    assert run("start") == 2
    assert capsys.readouterr().err == (
        "showdown is not installed here: ./run tools install showdown\n"
    )


def test_without_node_it_says_where_to_get_it(
    var: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(var))
    monkeypatch.setattr(sys, "executable", str(var / "python"))
    assert run("start") == 2
    errors = capsys.readouterr().err
    assert errors.startswith("Node.js is not installed here")
    assert errors.count("\n") == 1


@pytest.mark.parametrize("words", [("start", "--port", "0"), ("start", "--prot", "1"), ("begin",)])
def test_what_it_does_not_know_is_refused(
    words: tuple[str, ...], var: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2
    assert words[-1] in capsys.readouterr().err
