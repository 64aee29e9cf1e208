import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from launcher import cli, toolbox
from launcher.folders import ROOT

PASSES = [sys.executable, "-c", "print('fine')"]
FAILS = [sys.executable, "-c", "print('line 3 is wrong'); raise SystemExit(1)"]


def test_check_passes_when_every_tool_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolbox, "CHECKS", {"lint": PASSES, "types": PASSES})
    assert toolbox.run_checks() == 0
    assert "fine" not in capsys.readouterr().out


def test_check_runs_all_tools_and_shows_what_the_failing_one_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(toolbox, "CHECKS", {"lint": FAILS, "types": PASSES})
    assert toolbox.run_checks() == 1
    printed = capsys.readouterr().out
    assert "line 3 is wrong" in printed
    assert [line.split()[:2] for line in printed.splitlines()[-2:]] == [
        ["lint", "FAILED"],
        ["types", "ok"],
    ]


def test_the_packages_of_environments_are_tested_in_both_of_their_tools(
    commands: "Commands",
) -> None:
    assert cli.main(["check", "--environments"]) == 0
    assert commands.calls[0][0][-3:] == ["install", "openenv-core", "openenv"]
    checked = {Path(command[0]).name: command for command, _ in commands.calls[1:]}
    assert list(checked["uv"][1:]) == ["lock", "--check"]
    tested = [command for command, _ in commands.calls if "pytest" in command]
    assert [Path(command[0]).parts[-3] for command in tested] == ["openenv-core", "openenv"]
    assert all("not slow" not in command for command in tested)


def test_without_the_tools_nothing_of_environments_is_checked(commands: "Commands") -> None:
    commands.status = 1
    assert toolbox.run_environment_checks() == 1
    assert len(commands.calls) == 1


def test_test_runs_the_quick_half_of_environments(commands: "Commands") -> None:
    assert toolbox.run_tests([]) == 0
    halves = [command for command, _ in commands.calls if list(command[-2:]) == ["-m", "not slow"]]
    assert [Path(command[0]).parts[-3] for command in halves] == ["openenv-core"]
    installed = [command for command, _ in commands.calls if "openenv-core" in command]
    assert all("openenv" not in command for command in installed)


def test_each_test_is_in_one_half_of_the_run_and_only_the_second_is_traced(
    commands: "Commands",
) -> None:
    assert toolbox.run_tests([]) == 0
    first, second, _ = commands.list_runs()  # the last one runs some again on PostgreSQL
    with (ROOT / "pyproject.toml").open("rb") as file:
        all_folders = tomllib.load(file)["tool"]["pytest"]["ini_options"]["testpaths"]
    named, others = list_paths(first), list_paths(second)
    folders = [path for path in [*named, *others] if "/" not in path]
    assert sorted(folders) == sorted(all_folders)
    files = [path for path in named if "/" in path]
    assert all((ROOT / path).is_file() for path in files)
    assert [f"--ignore={path}" for path in files] == [
        word for word in second if word.startswith("--ignore")
    ]
    assert ("--cov" in first, "--cov" in second) == (False, True)
    assert all(toolbox.QUICK[1] in command for command in (first, second))


@pytest.mark.parametrize("n_run", [0, 1, 2])
def test_a_failing_part_of_the_tests_fails_the_command(commands: "Commands", n_run: int) -> None:
    toolbox.run_tests([])
    commands.failing = commands.list_runs()[n_run]
    assert toolbox.run_tests([]) == 1


def test_floors_are_of_folders_that_exist() -> None:
    patterns = [pattern for included in toolbox.FLOORS for pattern in included.split(",")]
    assert all((ROOT / pattern.removesuffix("/*")).is_dir() for pattern in patterns)


def test_every_check_names_a_program_that_exists() -> None:
    assert [
        name for name, command in toolbox.CHECKS.items() if shutil.which(command[0]) is None
    ] == []


def list_paths(command: Sequence[str]) -> list[str]:
    """Return the folders and files that a command of pytest names."""
    named = command[3 : command.index("-m", 3)]
    return [word for word in named if not word.startswith("-")]


class Commands:
    """Records the commands instead of running them."""

    def __init__(self, *, status: int = 0) -> None:
        self.status, self.failing = status, list[str]()
        self.calls: list[tuple[Sequence[str], dict[str, str]]] = []

    def __call__(self, command: Sequence[str], **options: Any) -> int:
        self.calls.append((command, options["env"]))
        return int(list(command) == self.failing) or self.status

    def list_runs(self) -> list[list[str]]:
        """Return the commands that run tests here, several at once."""
        return [list(command) for command, _ in self.calls if "-n" in command]

    def run(self, command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append((command, {}))
        return subprocess.CompletedProcess(command, 0)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    recorded = Commands()
    monkeypatch.setattr("launcher.toolbox.subprocess.call", recorded)
    monkeypatch.setattr("launcher.toolbox.subprocess.run", recorded.run)
    monkeypatch.setattr(toolbox, "CHECKS", {})
    return recorded


def test_test_runs_the_database_app_on_postgres_too(commands: Commands) -> None:
    assert toolbox.run_tests([]) == 0
    postgres = [
        command
        for command, env in commands.calls
        if env.get("EVALSITE_TEST_DATABASE") == "postgres"
    ]
    assert len(postgres) == 1
    assert "matches" in postgres[0]


def test_arguments_of_test_go_to_pytest_alone(commands: Commands) -> None:
    assert toolbox.run_tests(["-k", "relay"]) == 0
    assert [list(command[1:]) for command, _ in commands.calls] == [["-m", "pytest", "-k", "relay"]]


def test_a_failing_test_fails_the_command(commands: Commands) -> None:
    commands.status = 1
    assert toolbox.run_tests([]) == 1


@pytest.fixture
def no_browser(commands: Commands, monkeypatch: pytest.MonkeyPatch) -> Commands:
    def which(name: str) -> str | None:
        return "/usr/bin/apt-get" if name == "apt-get" else None

    monkeypatch.setattr("launcher.toolbox.shutil.which", which)
    monkeypatch.setattr("launcher.toolbox.os.geteuid", lambda: 0)
    return commands


def test_ci_installs_a_missing_browser(
    no_browser: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    toolbox.run_tests(["-k", "x"])
    assert [command[:2] for command, _ in no_browser.calls[:2]] == [
        ["apt-get", "update"],
        ["apt-get", "install"],
    ]


def test_elsewhere_a_missing_browser_is_told_with_the_way_to_get_it(
    no_browser: Commands, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("CI", raising=False)
    toolbox.run_tests(["-k", "x"])
    assert "apt-get install chromium chromium-driver" in capsys.readouterr().err
    assert len(no_browser.calls) == 1
