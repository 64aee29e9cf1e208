"""LLMServe's image built and run by podman: `./run test tests/test_llmserve_image.py -m compose`.

It needs podman, runc and debootstrap (Debian: apt-get install podman runc debootstrap), the package
index, and `./run tools install openenv-core openenv`. The base image is a stand-in, see images.py;
Docker itself is untried. Some minutes, most of them for the first build.
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from arena.games.llmserve.grading import Grader
from arena.games.llmserve.settings import Settings
from arena.games.llmserve.simulator import Server
from arena.games.llmserve.workload import BURSTY, N_WINDOWS
from launcher.addresses import Ports
from launcher.folders import ROOT
from launcher.tools import MissingToolError, find_tool
from tests.images import ensure_llmserve_base, pip_volumes, run, write_containers_conf

pytestmark = pytest.mark.compose

PROGRAMS = ("podman", "runc", "debootstrap")
PACKAGE = ROOT / "environments" / "llmserve"
IMAGE, SEED, MEMORY_MB = "llmserve-env-test", 7, 512
SETTINGS = Settings(64, 0.6, 0, 1, False, False)
ACTION: dict[str, Any] = {"batch_cap": 64, "kv_budget_fraction": 0.6, "quantization_tier": "INT8"}
PLAY_OVER_WEBSOCKET = f"""
import asyncio, sys
from llmserve_env import LLMServeEnv, ServeAction

async def play(url):
    async with LLMServeEnv(base_url=url) as env:
        result, n_steps = await env.reset(task_id="{BURSTY.id}", seed={SEED}), 0
        while not result.done:
            result, n_steps = await env.step(ServeAction(**{ACTION})), n_steps + 1
        print(n_steps, repr((await env.state()).score))

asyncio.run(play(sys.argv[1]))
"""
# Their validation calls Docker, looks for our server at port 8000, and refuses images with volumes,
# which only the build needs here. Podman 4.3 has no `.Label` in the format of its `ps`.
AS_DOCKER = """#!/bin/bash
[ "$1" = build ] || export CONTAINERS_CONF={plain}
for word in "$@"; do words+=("${{word//'{{{{.Label '/'{{{{index .ListContainer.Labels '}}"); done
exec podman "${{words[@]}}"
"""
PLAN = {
    "plan_schema_version": "1",
    "reset": {"episode_id": "probe", "seed": SEED, "options": {"task_id": BURSTY.id}},
    "actions": [ACTION] * N_WINDOWS,
}
MEASURED = ("startup", "observation_schema", "reward_well_formed", "state_contract")


@pytest.fixture(scope="module", autouse=True)
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build the image as its README says; return the folder of podman's settings."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    assert not missing, f"not installed: {', '.join(missing)}; see the head of this file"
    folder = tmp_path_factory.mktemp("podman")
    (folder / "plain").mkdir()
    write_containers_conf(folder / "plain")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(write_containers_conf(folder, pip_volumes())))
        ensure_llmserve_base(folder)
        run("podman", "build", "-q", "-t", IMAGE, ".", cwd=PACKAGE)
        yield folder


class Container:
    """A running container of the image, as a Space would run it."""

    def __init__(self) -> None:
        port = Ports.free().web
        published, memory = f"127.0.0.1:{port}:7860", f"--memory={MEMORY_MB}m"
        self.id = run("podman", "run", "-d", "-p", published, memory, IMAGE).strip()
        self.url = f"http://127.0.0.1:{port}"

    def ask(self, *words: str) -> str:
        return run("podman", *words, limit_s=60).strip()


@contextmanager
def run_container() -> Iterator[Container]:
    """Run one and wait until it answers."""
    container = Container()
    try:
        until = time.monotonic() + 120
        while not is_healthy(container.url):
            assert time.monotonic() < until, container.ask("logs", container.id)
            time.sleep(0.2)
        yield container
    finally:
        container.ask("rm", "-f", "-t", "0", container.id)


def is_healthy(url: str) -> bool:
    try:
        return bool(requests.get(f"{url}/health", timeout=5).json() == {"status": "healthy"})
    except requests.RequestException:
        return False


@pytest.fixture(scope="module")
def container(image: Path) -> Iterator[Container]:
    with run_container() as running:
        yield running


def find_program(tool: str, name: str) -> str:
    try:
        return str(find_tool(tool, ROOT / "var") / "bin" / name)
    except MissingToolError as error:
        pytest.skip(str(error))


def score_here() -> float:
    server, grader = Server(BURSTY, SEED), Grader()
    while not server.is_over:
        grader.add(server.run_window(SETTINGS))
    return grader.score()


def test_an_episode_over_http_scores_what_it_does_here(container: Container) -> None:
    with requests.Session() as session:
        session.headers["X-Session-Id"] = "from-outside"
        begin: dict[str, Any] = {"task_id": BURSTY.id, "seed": SEED}
        session.post(f"{container.url}/reset", json=begin, timeout=30).raise_for_status()
        n_steps, is_over = 0, False
        while not is_over:
            answer = session.post(f"{container.url}/step", json={"action": ACTION}, timeout=30)
            n_steps, is_over = n_steps + 1, answer.json()["done"]
        grade = session.post(f"{container.url}/grader", json={}, timeout=30).json()
    assert (n_steps, grade["score"]) == (N_WINDOWS, score_here())
    other = requests.get(f"{container.url}/state", headers={"X-Session-Id": "another"}, timeout=30)
    assert other.status_code == 409


@pytest.mark.parametrize("tool", ["openenv-core", "openenv"])
def test_an_episode_by_openenvs_client_scores_the_same(container: Container, tool: str) -> None:
    play = ("-c", PLAY_OVER_WEBSOCKET, container.url)
    output = run(find_program(tool, "python"), *play, cwd=PACKAGE)
    assert output.split() == [str(N_WINDOWS), repr(score_here())]


@pytest.mark.parametrize("tool", ["openenv-core", "openenv"])
def test_openenv_validates_the_running_container(container: Container, tool: str) -> None:
    run(find_program(tool, "openenv"), "validate", "--url", container.url, cwd=PACKAGE)


def test_its_page_is_there_and_it_stays_within_its_memory(container: Container) -> None:
    assert "gradio" in requests.get(f"{container.url}/web", timeout=60).text
    usage = container.ask("stats", "--no-stream", "--format", "{{.MemUsage}}", container.id)
    used = usage.split()[0]
    assert used.endswith("MB"), usage
    assert float(used.removesuffix("MB")) < 0.9 * MEMORY_MB


def test_it_runs_as_the_user_of_a_space_without_what_a_space_does_not_need(
    container: Container,
) -> None:
    assert container.ask("exec", container.id, "id", "-u") == "1000"
    names = container.ask("exec", container.id, "ls", "-A").split()
    assert {"server", "llmserve_env", "openenv.yaml", "weights", ".venv"} <= set(names)
    assert not {"tests", ".git", "__pycache__"} & set(names)


def test_a_sigterm_ends_it_in_seconds_with_a_session_open() -> None:
    with run_container() as running:
        requests.post(f"{running.url}/reset", json={}, timeout=30).raise_for_status()
        began = time.monotonic()
        running.ask("kill", "--signal", "TERM", running.id)
        status = running.ask("wait", running.id)
        assert time.monotonic() - began < 5
    assert status == "0"


def test_the_check_before_submission_builds_the_image_and_plays_in_it(image: Path) -> None:
    python = find_program("openenv-core", "python")
    output = run(python, "scripts/pre_submission_check.py", cwd=PACKAGE)
    assert "ok    image" in output.splitlines()


def test_openenvs_validation_measures_the_container(image: Path, tmp_path: Path) -> None:
    openenv = find_program("openenv", "openenv")
    copy = tmp_path / "llmserve"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", ".*", "tests"))
    dockerfile = (copy / "Dockerfile").read_text()
    (copy / "Dockerfile").write_text(dockerfile.replace('"--port", "7860"', '"--port", "8000"'))
    manifest = (copy / "openenv.yaml").read_text()
    (copy / "openenv.yaml").write_text(f"{manifest}  execution:\n    probe_path: plan.json\n")
    (copy / "plan.json").write_text(json.dumps(PLAN))
    docker = tmp_path / "docker"
    docker.write_text(AS_DOCKER.format(plain=image / "plain" / "containers.conf"))
    docker.chmod(0o755)
    command = [openenv, "validate", ".", "--level", "runtime"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [name for name in MEASURED if f"PASS  runtime.{name}" not in done.stdout] == []
