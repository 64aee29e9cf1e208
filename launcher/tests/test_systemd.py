"""deploy/systemd against the one plan, and looked at by systemd where it is installed."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gameservers import reference
from launcher.cli import build_parser
from launcher.folders import ROOT, SECRETS
from launcher.programs import PYTHON
from launcher.tests.test_compose import PLAN, SERVICES

FOLDER = ROOT / "deploy" / "systemd"
HOME = "/srv/evalsite"
UNITS = sorted(file.name for file in FOLDER.glob("*.service"))


def read_settings(unit: str) -> list[tuple[str, str]]:
    """Return the settings of a unit, in their order; a command may have several lines."""
    text = (FOLDER / unit).read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
    return [(line.partition("=")[0], line.partition("=")[2]) for line in lines]


def setting(unit: str, name: str) -> str:
    (value,) = (value for key, value in read_settings(unit) if key == name)
    return value


def words_of(unit: str, instance: str) -> list[str]:
    """Return the command as systemd calls it for an instance."""
    command = setting(unit, "ExecStart").replace("%i", instance).replace("%%", "%")
    return shlex.split(command)


@pytest.mark.parametrize(
    ("unit", "program"),
    [
        ("evalsite-node@.service", "node-1"),
        ("evalsite-gpu@.service", "gpu-1"),
        ("evalsite-head.service", "head"),
    ],
)
def test_a_unit_runs_the_command_of_the_supervisor(unit: str, program: str) -> None:
    plan = PLAN.task_programs(dict.fromkeys(SECRETS, "x"), generations={})
    (same,) = (each for each in plan if each.name == program)
    command = [word.replace(PYTHON, f"{HOME}/.venv/bin/python") for word in same.command]
    assert words_of(unit, program) == command
    assert int(setting(unit, "TimeoutStopSec")) >= same.stop_wait_s


def test_the_stack_starts_by_a_command_that_there_is() -> None:
    words = words_of("evalsite.service", "")
    assert words[0] == f"{HOME}/run"
    assert (ROOT / "run").is_file()
    options = build_parser().parse_args(words[1:])
    assert options.command == "up"
    assert not options.detach  # systemd follows it


def test_a_game_server_starts_by_a_command_that_there_is() -> None:
    words = words_of("evalsite-game-server@.service", "sim-1")
    assert words[1:4] == ["-m", "gameservers", "game_server"]
    options = reference.build_parser().parse_args(words[4:])
    assert (options.game, options.name) == ("${GAME}", "sim-1")
    assert options.eval_head_url == "${EVAL_HEAD_ENDPOINT}"


@pytest.mark.parametrize(
    ("unit", "service"),
    [("evalsite-node@.service", "node-1"), ("evalsite-game-server@.service", "game-server-1")],
)
def test_a_unit_has_as_long_to_stop_as_its_container(unit: str, service: str) -> None:
    assert f"{setting(unit, 'TimeoutStopSec')}s" == SERVICES[service]["stop_grace_period"]


@pytest.mark.parametrize("unit", UNITS)
def test_a_unit_holds_no_secret_and_is_no_administrator(unit: str) -> None:
    assert setting(unit, "User") == "evalsite"
    assert setting(unit, "NoNewPrivileges") == "true"
    environment = " ".join(value for key, value in read_settings(unit) if key == "Environment")
    assert not re.search("KEY|PASS|URL|TOKEN", environment)
    assert setting(unit, "EnvironmentFile").lstrip("-").startswith("/etc/evalsite/")


def verify(folder: Path, unit: str, text: str) -> subprocess.CompletedProcess[str]:
    """Let systemd look at a unit, with the clone in the place of the one that is installed."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    file = folder / unit
    here = text.replace(f"{HOME}/.venv/bin/python", PYTHON).replace(HOME, str(ROOT))
    file.write_text(here.replace("User=evalsite", "User=root"))
    command = ["systemd-analyze", "verify", "--man=no", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_nothing_wrong_with_a_unit(unit: str, tmp_path: Path) -> None:
    done = verify(tmp_path, unit.replace("@", "@one"), (FOLDER / unit).read_text())
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stderr


def test_systemd_finds_what_is_wrong(tmp_path: Path) -> None:
    text = (FOLDER / "evalsite-head.service").read_text()
    done = verify(tmp_path, "evalsite-head.service", text.replace("ExecStart=/", "ExecStart=/no/"))
    assert done.returncode != 0
    done = verify(tmp_path, "evalsite-head.service", text.replace("=mixed", "=kindly"))
    assert str(tmp_path) in done.stderr
