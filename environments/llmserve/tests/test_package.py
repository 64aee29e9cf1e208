"""The folder as others see it: OpenEnv's validation, the check before submission, its files."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from llmserve_env.simulator.workload import TASKS
from scripts import pre_submission_check as submission
from server.app import build_app
from server.environment import NAME, VERSION
from tests.serving import serving
from tests.stub_model import StubModel

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = Path(sys.executable).parent
STATIC = ["--level", "static", "--skip-build"]
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*", "tests")


def write_weights(folder: Path) -> None:
    """Write the smallest files of weights that are whole: one number each."""
    folder.mkdir(exist_ok=True)
    about = {"bias": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}
    header = json.dumps(about).encode()
    for task_id in TASKS:
        content = len(header).to_bytes(8, "little") + header + bytes(4)
        (folder / f"{task_id}.safetensors").write_bytes(content)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the package with weights in it, to take things away from."""
    shutil.copytree(ROOT, tmp_path / "llmserve", ignore=LEFT_OUT)
    write_weights(tmp_path / "llmserve" / "weights")
    return tmp_path / "llmserve"


def list_failures(root: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    submission.check_folder(submission.Checks(), root)
    return [line for line in capsys.readouterr().out.splitlines() if not line.startswith("ok")]


@pytest.mark.slow
def test_openenv_validates_the_folder() -> None:
    openenv = PROGRAMS / "openenv"
    levels = [[]] if version_of_openenv() < (0, 10) else [["--skip-build"], STATIC]
    for options in levels:
        command = [openenv, "validate", ".", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert ("PASS" if version_of_openenv() >= (0, 10) else "[OK]") in done.stdout


def version_of_openenv() -> tuple[int, ...]:
    for name in ("openenv", "openenv-core"):
        try:
            return tuple(map(int, version(name).split(".")[:2]))
        except ModuleNotFoundError:
            continue
    raise AssertionError("neither openenv nor openenv-core is installed")


@pytest.mark.slow
def test_openenv_validates_a_running_server(url: str) -> None:
    command = [PROGRAMS / "openenv", "validate", "--url", url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mode_endpoint_consistency" in done.stdout


def test_the_lock_is_that_of_the_project() -> None:
    done = subprocess.run(
        [PROGRAMS / "uv", "lock", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text()))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}


def test_both_dockerfiles_are_the_same() -> None:
    assert (ROOT / "Dockerfile").read_bytes() == (ROOT / "server" / "Dockerfile").read_bytes()


def test_name_and_version_are_the_same_everywhere() -> None:
    manifest = yaml.safe_load((ROOT / "openenv.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (manifest["name"], manifest["version"]) == (NAME, VERSION)
    assert (project["name"].replace("-", "_"), project["version"]) == (NAME, VERSION)
    assert manifest["validation"]["reward"]["range"] == [-0.65, 1.0]


def test_the_simulator_is_imported_without_openenv() -> None:
    script = "import sys, llmserve_env.simulator.simulator; sys.exit('openenv' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


@pytest.mark.slow
def test_the_whole_check_passes_and_says_what_it_left_out(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert submission.main(["--skip-docker"], copy) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "all checks passed"
    assert [line.split()[0] for line in lines[:-1]] == [*["ok"] * 9, *["skip"] * 3]


def remove_key(root: Path) -> None:
    manifest = yaml.safe_load((root / "openenv.yaml").read_text())
    del manifest["validation"]
    (root / "openenv.yaml").write_text(yaml.safe_dump(manifest))


@pytest.mark.parametrize(
    ("take_away", "failure"),
    [
        (lambda root: (root / "openenv.yaml").unlink(), "FAIL  manifest: openenv.yaml is missing"),
        (remove_key, "FAIL  manifest: openenv.yaml: the block validation is missing"),
        (lambda root: (root / "uv.lock").unlink(), "FAIL  lock: uv.lock is missing"),
        (
            lambda root: shutil.rmtree(root / "weights"),
            "FAIL  weights: weights/static_workload.safetensors is missing: "
            "python train.py --task static_workload",
        ),
        (
            lambda root: (root / "weights" / "bursty_workload.safetensors").write_text("pointer"),
            "FAIL  weights: weights/bursty_workload.safetensors is no safetensors file",
        ),
        (
            lambda root: (root / "server" / "Dockerfile").write_text("FROM scratch"),
            "FAIL  dockerfiles: server/Dockerfile: differs from Dockerfile, copy that one",
        ),
        (
            lambda root: (root / "README.md").write_text("# LLMServe"),
            "FAIL  readme: README.md: its front matter must have sdk docker and app_port 7860",
        ),
    ],
)
def test_what_is_taken_away_is_told_in_its_line(
    copy: Path,
    take_away: Callable[[Path], None],
    failure: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It has a test of its own, and takes seconds.
    monkeypatch.setattr(submission, "check_openenv", lambda root: None)
    take_away(copy)
    assert list_failures(copy, capsys) == [failure]


def test_a_lock_of_another_project_is_told(
    copy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "check_openenv", lambda root: None)
    project = copy / "pyproject.toml"
    project.write_text(project.read_text().replace('"requests>=2.32"', '"requests>=99"'))
    (failure,) = list_failures(copy, capsys)[:1]
    assert failure.startswith("FAIL  lock: uv lock --check ended with")


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({"docker": 0, "podman": 0}, "docker"),
        ({"docker": 1, "podman": 0}, "podman"),
        ({"podman": 0}, "podman"),
        ({"docker": 1, "podman": 2}, "no answer to `info` of docker and podman"),
        ({"docker": 1}, "no answer to `info` of docker: start its daemon"),
        ({}, "neither docker nor podman is here"),
    ],
)
def test_the_image_is_built_by_whichever_engine_answers(
    statuses: dict[str, int], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, status in statuses.items():
        (tmp_path / name).write_text(f'#!/bin/sh\ntest "$1" = info && exit {status}\n')
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if expected in statuses:
        assert submission.find_engine() == str(tmp_path / expected)
    else:
        with pytest.raises(submission.CheckError, match=expected):
            submission.find_engine()


@pytest.mark.slow
def test_openenvs_own_validation_is_part_of_it(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (copy / "openenv.yaml").unlink()
    failures = list_failures(copy, capsys)
    assert any(line.startswith("FAIL  openenv validate: ") for line in failures)


@pytest.mark.parametrize("route", ["/tasks", "/grader", "/step", "/baseline", "/web"])
def test_a_route_that_is_taken_away_is_told(
    route: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "check_validate_url", lambda url: None)
    app = build_app()

    @app.middleware("http")
    async def hide(request, call_next):
        if request.url.path.startswith(route):
            request.scope["path"] = "/nowhere"
        return await call_next(request)

    checks = submission.Checks()
    with serving(app) as url:
        submission.check_server(checks, url, "server")
    (failure,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAIL")]
    kind = "episode" if route == "/grader" else "routes"
    assert failure.startswith(f"FAIL  server {kind}: ")
    assert "404" in failure or "Not Found" in failure


@pytest.mark.slow
def test_a_space_that_does_not_answer_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    checks = submission.Checks()
    submission.check_server(checks, "http://127.0.0.1:9", "space")
    lines = capsys.readouterr().out.splitlines()
    assert checks.n_failed == 3
    assert [line.split(":")[0] for line in lines if line.startswith("FAIL")] == [
        "FAIL  space routes",
        "FAIL  space episode",
        "FAIL  space openenv validate --url",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("runtime", ["in-process", "http"])
def test_the_baseline_of_a_model_is_checked_where_that_is_asked_for(
    runtime: str, url: str, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission.check_baseline(url, runtime, "m")
    assert len(stub.requests) == 270
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(submission.CheckError, match="OPENAI_API_KEY is not set"):
        submission.check_baseline(url, runtime, "m")


@pytest.mark.slow
def test_a_space_is_checked_as_the_server_here_is(
    url: str, copy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, "check_folder", lambda checks, root: None)
    assert submission.main(["--skip-docker", "--space-url", f"{url}/"], copy) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if "space" in line] == [
        "ok    space routes",
        "ok    space episode",
        "ok    space openenv validate --url",
    ]
