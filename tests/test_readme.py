"""Every command of README.md, typed in order in a fresh clone, against one data folder."""

import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES
from benchmarks.__main__ import main as run_benchmark
from launcher.addresses import Ports
from launcher.cli import PASSED_ON
from launcher.folders import ROOT
from launcher.stack import own_settings, stop_stack
from tests.installed import copy_clone

pytestmark = pytest.mark.slow

LIMIT_S = 150
FOLLOWED = {
    "./run": r"Ctrl-C ends it",
    "./run up": r"Ctrl-C ends it",
    "./run watch": r"ppo@\d+: rating",
}
"""Commands that go on until Ctrl-C, and the line by which they have done what README says."""
LEFT_RUNNING = ("./run", "./run up")
TOO_LONG = {
    "./run test": "checks everything for a quarter of an hour, this test among it",
    "./run bench": "measures for minutes; tests/test_bench*.py try each",
    "./run chaos": "plays 2,000 matches twice while it kills",
    "./run manage": "prints a command for another machine",
    "./run node": "is for another machine; tests/test_second_machine.py types it there",
}
"""Commands that are not typed here, each with the reason; that they exist is checked."""
TYPED = {
    ".venv/bin/python -m",
    "./run campaign",
    "./run checkpoints",
    "./run compare",
    "./run evaluate",
    "./run games",
    "./run gate",
    "./run generate",
    "./run plugin",
    "./run results",
    "./run schedule",
    "./run stop",
}
"""Commands that end by themselves and succeed."""


def read_commands(text: str) -> list[str]:
    """Return the lines of the shell blocks, as typed, without prompts and remarks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if shlex.split(line, comments=True)]


def read_named(text: str) -> list[str]:
    """Return the commands that sentences name."""
    sentences = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`(\./run\b[^`]*)`", sentences)


def kind_of(command: str) -> str:
    """Return the program and its command: `./run evaluate`."""
    return " ".join(shlex.split(command, comments=True)[:2])


README = (ROOT / "README.md").read_text()
COMMANDS = read_commands(README)


@pytest.fixture
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the files of the clone, set up by what is installed here."""
    folder = tmp_path_factory.mktemp("clone")
    copy_clone(folder)
    for name in (".venv", "node_modules"):
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return that of a new user, with a data folder and ports of this test."""
    var = tmp_path_factory.mktemp("var")
    kept = {
        name: value for name, value in os.environ.items() if name not in own_settings(os.environ)
    }
    for name in ("DJANGO_SETTINGS_MODULE", "PYTHONPATH", "EVALSITE_URL", "EVALSITE_TOKEN"):
        kept.pop(name, None)
    yield kept | Ports.free().environment() | {"EVALSITE_VAR": str(var)}
    stop_stack(var)


class Followed:
    """A command that runs until Ctrl-C; what it prints is read along."""

    def __init__(self, command: str, clone: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            # Where the tests run in the background, Ctrl-C is ignored by all that they start.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )
        self.printed: list[str] = []

    def wait_for(self, line: str) -> None:
        """Read until a line matches; fail with what was printed instead."""
        assert self.process.stdout is not None
        alarm = threading.Timer(LIMIT_S, self.process.kill)
        alarm.start()
        try:
            for printed in self.process.stdout:
                self.printed.append(printed)
                if re.search(line, printed):
                    return
        finally:
            alarm.cancel()
        pytest.fail(f"{line!r} was never printed:\n{''.join(self.printed)}")

    def read_on(self) -> None:
        """Let it print without waiting for a reader."""
        threading.Thread(target=self.process.communicate, daemon=True).start()

    def interrupt(self) -> None:
        """Type Ctrl-C and wait for the end."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGINT)
        self.process.communicate(timeout=LIMIT_S)


def test_every_command_is_typed_here_or_left_out_for_a_reason() -> None:
    named = {kind_of(command) for command in [*COMMANDS, *read_named(README)]}
    grouped = {*FOLLOWED, *TOO_LONG, *TYPED}
    assert not named - grouped, "to be typed, followed, or left out for a reason?"
    assert not grouped - named, "README has these no more"
    for left_out in TOO_LONG:
        assert left_out.split()[1] in PASSED_ON
    measured = [command.split()[2] for command in read_named(README) if "run bench" in command]
    assert {*measured} <= {*NAMES}


def test_every_benchmark_says_what_it_measures(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_benchmark(["--help"]) == 0
    assert run_benchmark([]) == 2
    _, *lines = capsys.readouterr().out.split("usage: ")[1].splitlines()
    assert [line.split()[0] for line in lines] == list(NAMES)
    assert all(len(line.split()) > 5 for line in lines)


@pytest.mark.long
def test_every_command_runs_as_typed_in_order(clone: Path, environment: dict[str, str]) -> None:
    running: list[Followed] = []
    try:
        for command in COMMANDS:
            kind = kind_of(command)
            if kind in FOLLOWED:
                followed = Followed(command, clone, environment)
                running.append(followed)
                followed.wait_for(FOLLOWED[kind])
                if kind in LEFT_RUNNING:
                    followed.read_on()
                else:
                    followed.interrupt()
            elif kind not in TOO_LONG:
                type_command(command, clone, environment)
    finally:
        for followed in running:
            if followed.process.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(followed.process.pid, signal.SIGINT)
                followed.process.wait(timeout=LIMIT_S)


def type_command(command: str, clone: Path, environment: dict[str, str]) -> None:
    """Run a command to its end; it must succeed."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
