"""Tools: what is pinned is installed once, in its own folder, and a half of it never counts."""

import argparse
import fcntl
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from launcher import cli, tools
from launcher.errors import SetupError
from launcher.folders import ROOT


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the data folder that commands use."""
    folder = tmp_path / "var"
    monkeypatch.setenv("EVALSITE_VAR", str(folder))
    return folder


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """Return a folder of tools with one, `greeter`: a package that lies beside it as a wheel."""
    source = tmp_path / "pinned" / "greeter"
    source.mkdir(parents=True)
    wheel = tmp_path / "greeter-1.0-py3-none-any.whl"
    about = "Metadata-Version: 2.1\nName: greeter\nVersion: 1.0\n"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("greeter.py", "print('hello')\n")
        archive.writestr("greeter-1.0.dist-info/METADATA", about)
        archive.writestr("greeter-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("greeter-1.0.dist-info/RECORD", "greeter.py,,\n")
    (source / "requirements.txt").write_text(f"{wheel}\n")
    return source.parent


def _install(pinned: Path, *names: str) -> int:
    return tools.install_tools(argparse.Namespace(names=list(names)), pinned)


def test_a_python_tool_is_installed_apart_and_once(
    var: Path, pinned: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(tools.MissingToolError, match=r"\./run tools install greeter"):
        tools.find_tool("greeter", var, pinned)
    assert _install(pinned, "greeter") == 0
    folder = tools.find_tool("greeter", var, pinned)
    greeting = [str(folder / "bin" / "python"), "-m", "greeter"]
    assert subprocess.run(greeting, capture_output=True, check=True).stdout == b"hello\n"
    assert "greeter: done" in capfd.readouterr().out
    monkeypatch.setattr(tools, "_list_commands", lambda *_: pytest.fail("it is there"))
    assert _install(pinned, "greeter") == 0
    assert "greeter is installed" in capfd.readouterr().out


def test_other_pins_are_another_tool(var: Path, pinned: Path) -> None:
    folder = var / "tools" / "greeter"
    folder.mkdir(parents=True)
    (folder / tools.DONE).write_text(tools.hash_packages(pinned / "greeter"))
    assert tools.find_tool("greeter", var, pinned) == folder
    (pinned / "greeter" / "requirements.txt").write_text("greeter==2.0\n")
    with pytest.raises(tools.MissingToolError):
        tools.find_tool("greeter", var, pinned)


def test_what_was_cut_off_is_begun_anew(
    var: Path, pinned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = var / "tools" / "greeter"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "half.py").touch()
    monkeypatch.setattr(tools, "_list_commands", lambda *_: [["false"]])
    with pytest.raises(SetupError, match="greeter could not be installed: false ended with 1"):
        _install(pinned, "greeter")
    assert list(folder.iterdir()) == []
    with pytest.raises(tools.MissingToolError):
        tools.find_tool("greeter", var, pinned)


def test_two_do_not_install_into_one_folder(var: Path, pinned: Path) -> None:
    (var / "tools").mkdir(parents=True)
    with (var / "tools" / ".greeter.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SetupError, match="being installed by another process"):
            _install(pinned, "greeter")


def test_a_program_that_is_missing_is_named(
    var: Path, pinned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "_list_commands", lambda *_: [["no-such-program"]])
    with pytest.raises(SetupError, match="greeter needs no-such-program"):
        _install(pinned, "greeter")


def test_a_node_tool_is_installed_from_its_lock(tmp_path: Path) -> None:
    source, folder = tmp_path / "given", tmp_path / "made"
    source.mkdir()
    folder.mkdir()
    (source / "package.json").write_text("{}")
    (source / "package-lock.json").write_text("{}")
    commands: list[Sequence[str]] = list(tools._list_commands(source, folder))
    assert [command[:2] for command in commands] == [("npm", "ci")]
    assert "--ignore-scripts" in commands[0]
    assert (folder / "package-lock.json").is_file()


@pytest.mark.parametrize(
    ("name", "hint"), [("poke_env", "did you mean poke-env"), ("kubectl", "there are")]
)
def test_an_unknown_name_is_refused(
    var: Path, capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    assert cli.main(["tools", "install", name]) == cli.BAD_INPUT
    assert hint in capsys.readouterr().err
    assert not var.exists()


def test_the_list_says_what_is_there(var: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["tools"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == tools.list_tools()
    assert all(line.endswith("not installed") for line in lines)


@pytest.mark.parametrize("name", tools.list_tools())
def test_what_is_installed_here_is_whole(name: str) -> None:
    try:
        folder = tools.find_tool(name, ROOT / "var")
    except tools.MissingToolError as error:
        pytest.skip(str(error))
    python = folder / "bin" / "python"
    check = [str(python), "-m", "pip", "check"] if python.exists() else ["npm", "ls", "--all"]
    subprocess.run(check, cwd=folder, check=True, capture_output=True)
