"""What `pip install .` gives: the client and `evalsite` alone, used far from any clone."""

import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from launcher.folders import ROOT, read_variables
from launcher.stack import Stack, start_stack

CLIENT = ("requests", "urllib3", "certifi", "idna", "charset-normalizer")
"""What the client needs, with what that needs."""
CORE = ("numpy", "scipy", "msgspec", "packaging", "trueskill")
CHECKPOINT = ROOT / "examples/connect_four/checkpoints/connect_four_step_000960.safetensors"
LIMIT_S = 120


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of the clone, built with what is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "arena", "evalsite_client", "inference", "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # A copy: a build leaves its own folders beside the sources.
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    build = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    subprocess.run([*build, "-w", str(folder), str(source)], check=True)
    (built,) = folder.glob("evalsite-*.whl")
    return built


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of a fresh environment with the wheel and what the client needs."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    link(site, CLIENT)
    return folder / "bin" / "python"


def link(site: Path, names: tuple[str, ...]) -> None:
    """Let an environment have distributions that are installed beside us."""
    for name in names:
        found = distribution(name)
        tops = {path.parts[0] for path in found.files or () if path.parts[0] != ".."}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))))


def run(python: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the Python in its own folder; nothing of the clone is on its path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALSITE_")}
    kept.pop("PYTHONPATH", None)
    return subprocess.run(
        [python, "-I", *arguments],
        cwd=python.parent,
        env=kept | variables,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


def test_the_command_runs_with_requests_alone(python: Path) -> None:
    shown = run(python, "-m", "evalsite_client", "--help")
    assert shown.returncode == 0, shown.stderr
    for command in ("evaluate", "campaign", "gate", "watch", "checkpoints", "schedule", "token"):
        assert f"\n    {command} " in shown.stdout
    loaded = "import evalsite_client.cli.main, sys; print(*sys.modules)"
    modules = {name.partition(".")[0] for name in run(python, "-c", loaded).stdout.split()}
    assert "evalsite_client" in modules
    assert not modules & {"django", "celery", "redis", "numpy", "arena", "inference", "torch"}


def test_without_torch_converting_says_what_is_missing(python: Path) -> None:
    refused = run(python, "-m", "evalsite_client", "checkpoints", "convert", "x")
    assert refused.returncode == 2
    assert "torch: is not installed here" in refused.stderr


def test_the_pure_core_is_a_library(python: Path) -> None:
    (site,) = python.parent.parent.glob("lib/python*/site-packages")
    link(site, CORE)
    code = (
        "from arena.games import registry; game = registry.get('skill_game'); "
        "print(game.spec.n_seats)"
    )
    done = run(python, "-c", code)
    assert done.stdout == "2\n", done.stderr


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with start_stack(tmp_path_factory.mktemp("var"), nodes=1, slots=2, gpus=1, web=True) as running:
        yield running


@pytest.mark.slow
def test_gate_and_watch_work_from_a_machine_without_the_clone(
    python: Path, server: Stack, tmp_path: Path
) -> None:
    access = read_variables(server.plan.var / "client.env")
    game = ("--game", "connect_four")
    pair = ("--candidate", "alphabeta:2", "--baseline", "random", "--bounds", "0,100")
    gate = run(python, "-m", "evalsite_client", "gate", *pair, *game, **access)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    assert "PASS: " in gate.stdout
    assert "alphabeta:2 is better than random" in gate.stdout
    folder = tmp_path / "run"
    folder.mkdir()
    path = folder / "step_000960.safetensors"
    path.write_bytes(CHECKPOINT.read_bytes())
    os.utime(path, (path.stat().st_mtime - 60,) * 2)
    watch = ("watch", str(folder), "--agent", "mine", "--budget", "40", "--once")
    watched = run(python, "-m", "evalsite_client", *watch, **access)
    assert watched.returncode == 0, watched.stdout + watched.stderr
    assert "mine@960: rating" in watched.stdout
