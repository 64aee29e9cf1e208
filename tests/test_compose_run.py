"""docker-compose.yml, run whole under podman: `./run test tests/test_compose_run.py -m compose`.

Docker itself is untried. It needs podman, runc and debootstrap (Debian: apt-get install podman runc
debootstrap golang-github-containernetworking-plugin-dnsname) and podman-compose (pip). It takes
several minutes.
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
from typing import Any

import pytest
import yaml

from launcher.addresses import Ports
from launcher.folders import ROOT
from tests.images import ensure_images, pip_settings, pip_volumes, run, write_containers_conf

pytestmark = pytest.mark.compose

PROGRAMS = ("podman", "runc", "debootstrap", "podman-compose")
PROJECT = "evalsite-test"
# podman-compose waits for a `prepare` that has ended with podman's own rules, which know only
# containers that run: each step is started by its name.
SERVERS = ("broker", "fast", "postgres")
REST = (
    *("recorder", "control", "beat", "web", "node-1", "node-2", "gpu", "head", "game-server-1"),
    *("flower", "prometheus", "grafana"),
)
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "node_modules", "__pycache__", ".*_cache", "test-artifacts"
)
WRITE_NETWORKS = """
from pathlib import Path
from arena.checkpoints import Seal
from inference.model import fresh, save_sealed
for seed, game in enumerate(("connect_four", "connect_four", "served_four"), 1):
    seal = Seal("mlp", {}, game, (3, 6, 7), 7)
    save_sealed(fresh(seal, seed=seed), Path(f"/tmp/net{seed}.safetensors"), seal)
"""
AGENTS = "random,greedy,alphabeta:2,net1,net2"
SERVED, SERVED_AGENTS = "served_four", "random,net3"
N_PLAY_NODES = "/api/v1/query?query=sum(evalsite_nodes{kind=%22play%22})"
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

    def evaluate(
        self, n_matches: int, *, game: str = "connect_four", agents: str = AGENTS
    ) -> subprocess.Popen[str]:
        command = (
            "podman",
            "exec",
            f"{PROJECT}_web_1",
            *EVALSITE,
            "evaluate",
        )
        options = ("--game", game, "--agents", agents, "--num-matches", str(n_matches))
        return subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], bool], *, limit_s: float = 300) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(1)


def ask(port: int, path: str) -> Any:
    """Return what a container answers, {} when it does not."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as reply:
            return json.load(reply)
    except (urllib.error.URLError, OSError):
        return {}


def is_ready(ports: Ports) -> bool:
    return bool(ask(ports.web, "/readyz").get("status") == "ready")


def list_healthy_servers(ports: Ports) -> list[str]:
    servers = ask(ports.head, "/discovered").get("discovered", [])
    return [server["name"] for server in servers if server["state"] == "healthy"]


def prometheus_port(ports: Ports) -> int:
    """Return a port that is free, too: of the broker, which the containers keep to themselves."""
    return ports.broker


def grafana_port(ports: Ports) -> int:
    return ports.fast


def has_scraped_all(ports: Ports) -> bool:
    targets = ask(prometheus_port(ports), "/api/v1/targets").get("data", {})
    health = [target["health"] for target in targets.get("activeTargets", [])]
    return health == ["up", "up"]


@pytest.fixture
def compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Compose]:
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    assert not missing, f"not installed: {', '.join(missing)}; see the head of this file"
    ports = Ports.free()
    index = pip_settings().get("index-url", "https://pypi.org/simple")
    # What is set here, as for the tests of this process, would win over the clone's .env.
    for name in [name for name in os.environ if name.startswith("EVALSITE_")]:
        monkeypatch.delenv(name)
    for name, value in (
        ("CONTAINERS_CONF", str(write_containers_conf(tmp_path))),
        ("EVALSITE_PORT", str(ports.web)),
        ("EVALSITE_FLOWER_PORT", str(ports.flower)),
        ("EVALSITE_HEAD_PORT", str(ports.head)),
        ("EVALSITE_PROMETHEUS_PORT", str(prometheus_port(ports))),
        ("EVALSITE_GRAFANA_PORT", str(grafana_port(ports))),
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


def kill(compose: Compose, *services: str) -> dict[str, int]:
    """Kill the programs of these containers; return what they were."""
    killed = {name: compose.pid(name) for name in services}
    for pid in killed.values():
        os.kill(pid, signal.SIGKILL)
    return killed


def wait_until_back(compose: Compose, killed: dict[str, int]) -> None:
    wait_for(lambda: all(compose.pid(name) not in {0, pid} for name, pid in killed.items()))


def check_monitoring(ports: Ports) -> None:
    """Expect that Prometheus scrapes both and has all alarms, and that Grafana asks it."""
    wait_for(lambda: has_scraped_all(ports))
    rules = ask(prometheus_port(ports), "/api/v1/rules")["data"]["groups"]
    written = yaml.safe_load((ROOT / "deploy/prometheus/alerts.yml").read_text())["groups"]
    assert [len(group["rules"]) for group in rules] == [len(group["rules"]) for group in written]
    answer = ask(grafana_port(ports), N_PLAY_NODES)
    assert answer["titles"] == ["evalsite"]
    assert [row["value"][1] for row in answer["of"]["data"]["result"]] == ["2"]


def check_served_game(compose: Compose) -> None:
    """Play on a game server that dialled the head, while both are killed."""
    wait_for(lambda: list_healthy_servers(compose.ports) == ["game-server-1"])
    evaluation = compose.evaluate(400, game=SERVED, agents=SERVED_AGENTS)
    read_until(evaluation, "/400 - Pending: ")
    killed = kill(compose, "game-server-1", "head")
    read_until(evaluation, "Completed 400 of which")
    wait_until_back(compose, killed)
    wait_for(lambda: list_healthy_servers(compose.ports) == ["game-server-1"])


def test_everything_comes_up_plays_survives_a_kill_and_goes_down(compose: Compose) -> None:
    start_everything(compose)
    # Players run agents' code: nothing of the clone but the code may lie beside them.
    beside = set(compose.run_in("node-1", "ls", "-A").split())
    assert not {".env", ".git", "var", "tests", "docker-compose.yml"} & beside
    compose.run_in("web", "python", "-c", WRITE_NETWORKS)
    for name in ("net1", "net2", "net3"):
        add = ("checkpoints", "add", f"/tmp/{name}.safetensors", "--agent", name)
        compose.run_in("web", *EVALSITE, *add, "--placement", "gpu")
    read_until(compose.evaluate(40), "Completed 40 of which")
    evaluation = compose.evaluate(400)
    read_until(evaluation, "/400 - Pending: ")  # some have been played
    killed = kill(compose, "node-1", "control", "broker")
    read_until(evaluation, "Completed 400 of which")
    wait_until_back(compose, killed)
    check_monitoring(compose.ports)
    check_served_game(compose)
    compose("down", "-v", "-t", "5")
    names = run("podman", "ps", "-a", "--format", "{{.Names}}").split()
    assert not [name for name in names if name.startswith(PROJECT)]
