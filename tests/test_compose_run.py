"""docker-compose.yml, run whole under podman: `./run test -m compose`. Docker itself is untried.

It needs podman, runc and debootstrap (Debian: apt-get install podman runc debootstrap
golang-github-containernetworking-plugin-dnsname) and podman-compose (pip). Several minutes.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launcher.addresses import Ports
from launcher.folders import ROOT
from tests.images import ensure_images, pip_settings, pip_volumes, run

pytestmark = pytest.mark.compose

PROGRAMS = ("podman", "runc", "debootstrap", "podman-compose")
PROJECT = "evalsite-test"
# podman-compose waits for a `prepare` that has ended with podman's own rules, which know only
# containers that run: each step is started by its name.
SERVERS = ("broker", "fast", "postgres")
REST = ("recorder", "control", "beat", "web", "node-1", "node-2", "gpu", "head", "flower")
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "node_modules", "__pycache__", ".*_cache", "test-artifacts"
)
# A container may not raise limits above those of a machine that is one itself.
CONTAINERS_CONF = """[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
"""
WRITE_NETWORKS = """
from pathlib import Path
from arena.checkpoints import Seal
from inference.model import fresh, save_sealed
for seed in (1, 2):
    seal = Seal("mlp", {}, "connect_four", (3, 6, 7), 7)
    save_sealed(fresh(seal, seed=seed), Path(f"/tmp/net-{seed}.safetensors"), seal)
"""
AGENTS = "random,greedy,alphabeta:2,net1,net2"
EVALSITE = ("python", "-m", "evalsite_client")


class Compose:
    """The clone of a user with its containers."""

    def __init__(self, folder: Path, ports: Ports) -> None:
        self.folder, self.ports = folder, ports

    def __call__(self, *arguments: str) -> str:
        return run("podman-compose", "-p", PROJECT, *arguments, cwd=self.folder)

    def run_in(self, service: str, *command: str) -> str:
        return run("podman", "exec", f"{PROJECT}_{service}_1", *command)

    def pid(self, service: str) -> int:
        name = f"{PROJECT}_{service}_1"
        return int(run("podman", "inspect", "-f", "{{.State.Pid}}", name))

    def evaluate(self, n_matches: int) -> subprocess.Popen[str]:
        command = (
            "podman",
            "exec",
            f"{PROJECT}_web_1",
            *EVALSITE,
            "evaluate",
        )
        options = ("--game", "connect_four", "--agents", AGENTS, "--num-matches", str(n_matches))
        return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], bool], *, limit_s: float = 300) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(1)


def is_ready(ports: Ports) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{ports.web}/readyz", timeout=5) as reply:
            return bool(json.load(reply)["status"] == "ready")
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture
def compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compose]:
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    assert not missing, f"not installed: {', '.join(missing)}; see the head of this file"
    (tmp_path / "containers.conf").write_text(CONTAINERS_CONF)
    ports = Ports.free()
    index = pip_settings().get("index-url", "https://pypi.org/simple")
    # What is set here, as for the tests of this process, would win over the clone's .env.
    for name in [name for name in os.environ if name.startswith("EVALSITE_")]:
        monkeypatch.delenv(name)
    for name, value in (
        ("CONTAINERS_CONF", str(tmp_path / "containers.conf")),
        ("EVALSITE_PORT", str(ports.web)),
        ("EVALSITE_FLOWER_PORT", str(ports.flower)),
        ("EVALSITE_HEAD_PORT", str(ports.head)),
        ("TORCH_INDEX", os.environ.get("TORCH_INDEX", index)),
    ):
        monkeypatch.setenv(name, value)
    ensure_images(tmp_path)
    shutil.copytree(ROOT, tmp_path / "clone", ignore=NOT_COPIED)
    compose = Compose(tmp_path / "clone", ports)
    make = [sys.executable, "-m", "launcher", "compose-env"]
    subprocess.run(make, cwd=compose.folder, check=True)
    try:
        yield compose
    finally:
        compose("down", "-v", "-t", "5")


def start_everything(compose: Compose) -> None:
    volumes = " ".join(f"-v {volume}" for volume in pip_volumes())
    compose("--podman-build-args", f"--network=host {volumes}", "build", "prepare")
    compose("up", "-d", "--no-build", *SERVERS)

    def is_prepared() -> bool:
        prepare = ("podman-compose", "-p", PROJECT, "run", "--rm", "--no-deps", "-T", "prepare")
        return subprocess.run(prepare, cwd=compose.folder, check=False).returncode == 0

    wait_for(is_prepared)
    compose("up", "-d", "--no-build", "--no-deps", *REST)
    wait_for(lambda: is_ready(compose.ports))


def read_until(evaluation: subprocess.Popen[str], text: str) -> None:
    """Read what an evaluation prints up to the first line with this text."""
    assert evaluation.stdout is not None
    printed = []
    while text not in (line := evaluation.stdout.readline()):
        printed.append(line)
        assert line, "it ended:\n" + "".join(printed)


def test_everything_comes_up_plays_survives_a_kill_and_goes_down(compose: Compose) -> None:
    start_everything(compose)
    # Players run agents' code: nothing of the clone but the code may lie beside them.
    beside = set(compose.run_in("node-1", "ls", "-A").split())
    assert not {".env", ".git", "var", "tests", "docker-compose.yml"} & beside
    compose.run_in("web", "python", "-c", WRITE_NETWORKS)
    for number in (1, 2):
        add = ("checkpoints", "add", f"/tmp/net-{number}.safetensors")
        compose.run_in("web", *EVALSITE, *add, "--agent", f"net{number}", "--placement", "gpu")
    read_until(compose.evaluate(40), "Completed 40 of which")
    evaluation = compose.evaluate(400)
    read_until(evaluation, "/400 - Pending: ")  # some have been played
    killed = {name: compose.pid(name) for name in ("node-1", "control", "broker")}
    for pid in killed.values():
        os.kill(pid, signal.SIGKILL)
    read_until(evaluation, "Completed 400 of which")
    wait_for(lambda: all(compose.pid(name) not in {0, pid} for name, pid in killed.items()))
    compose("down", "-v", "-t", "5")
    names = run("podman", "ps", "-a", "--format", "{{.Names}}").split()
    assert not [name for name in names if name.startswith(PROJECT)]
