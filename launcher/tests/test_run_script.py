"""`./run` in an empty folder, with programs that only write down how they were called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from launcher.folders import ROOT

TOOLS = ("cat", "cksum", "dirname", "mkdir", "sh")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a folder with the script and a PATH of its own in `bin`."""
    for name in ("run", "pyproject.toml", "constraints.txt", "package-lock.json"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    return tmp_path


def pretend(clone: Path, name: str, *, status: int = 0) -> None:
    """Put a program in place that adds its arguments to the file `called`."""
    program = clone / name
    program.parent.mkdir(parents=True, exist_ok=True)
    called = clone / "called"
    program.write_text(f'#!/bin/sh\necho "{program.name} $*" >> {called}\nexit {status}\n')
    program.chmod(0o755)


def run(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (clone / "called").write_text("")
    environment = {**os.environ, "PATH": str(clone / "bin")}
    command = [str(clone / "run"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def called(clone: Path) -> list[str]:
    return [line for line in (clone / "called").read_text().splitlines() if "-c " not in line[:10]]


def test_without_python_it_says_what_is_needed(clone: Path) -> None:
    done = run(clone)
    assert done.returncode == 2
    assert "Python 3.11 or newer" in done.stderr


def test_an_old_python_is_passed_over(clone: Path) -> None:
    pretend(clone, "bin/python3", status=1)
    assert run(clone).returncode == 2


def test_packages_are_installed_when_the_lists_changed_and_only_then(clone: Path) -> None:
    pretend(clone, ".venv/bin/python")
    install = "python -m pip install -q --no-compile -c constraints.txt -e .[server,dev,inference]"
    run(clone, "status")
    assert called(clone) == [install, "python -m launcher status"]
    run(clone, "status")
    assert called(clone) == ["python -m launcher status"]
    (clone / "constraints.txt").write_text("numpy==2.4.6\n")
    run(clone, "stop")
    assert called(clone) == [install, "python -m launcher stop"]


INSTALL = "python -m pip install -q --no-compile -c constraints.txt -e"


def test_a_play_node_installs_what_it_needs_and_no_more(clone: Path) -> None:
    pretend(clone, ".venv/bin/python")
    pretend(clone, "bin/npm")
    run(clone, "node", "--join", "http://x", "--token", "t")
    joins = "python -m launcher.joining --join http://x --token t"
    assert called(clone) == [f"{INSTALL} .[node]", joins]
    run(clone, "node", "--join", "http://x", "--with-torch")
    torch = "python -m launcher.joining --join http://x --with-torch"
    assert called(clone) == [f"{INSTALL} .[node,inference]", torch]
    run(clone, "node", "--leave")
    assert called(clone) == ["python -m launcher.joining --leave"]
    # What runs a server, too, needs the rest.
    run(clone, "status")
    assert called(clone)[0] == f"{INSTALL} .[server,dev,inference]"


def test_a_clone_that_has_all_installs_nothing_for_a_node(clone: Path) -> None:
    pretend(clone, ".venv/bin/python")
    run(clone, "status")
    run(clone, "node", "--with-torch")
    assert called(clone) == ["python -m launcher.joining --with-torch"]


def test_a_failed_installation_ends_it_and_is_tried_again(clone: Path) -> None:
    pretend(clone, ".venv/bin/python")
    shutil.copy(clone / ".venv/bin/python", clone / "good")
    program = (clone / "good").read_text().replace("exit 0", 'case "$*" in *pip*) exit 1;; esac')
    (clone / ".venv/bin/python").write_text(program)
    assert run(clone, "status").returncode == 1
    assert run(clone, "status").returncode == 1
    assert not [line for line in called(clone) if "evalsite" in line]


def test_without_npm_it_says_what_waits_and_goes_on(clone: Path) -> None:
    pretend(clone, ".venv/bin/python")
    done = run(clone, "status")
    assert done.returncode == 0
    assert "npm ci failed" in done.stderr
    assert called(clone)[-1] == "python -m launcher status"


def test_the_npm_of_the_wheel_is_found(clone: Path) -> None:
    pretend(clone, ".venv/bin/python")
    pretend(clone, ".venv/bin/npm")
    (clone / "node_modules").mkdir()
    assert "npm ci failed" not in run(clone, "status").stderr


@pytest.mark.parametrize("status", [0, 1])
def test_the_pages_parts_are_fetched_once_and_a_failure_does_not_end_it(
    status: int, clone: Path
) -> None:
    pretend(clone, ".venv/bin/python")
    pretend(clone, "bin/npm", status=status)
    (clone / "node_modules").mkdir()
    assert run(clone, "status").returncode == 0
    fetch = "npm ci --ignore-scripts --no-audit --no-fund"
    assert fetch in called(clone)
    done = run(clone, "status")
    assert (fetch in called(clone)) == bool(status)
    assert ("npm ci failed" in done.stderr) == bool(status)
