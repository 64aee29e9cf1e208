"""A server installed without the development extra starts every program and keeps it running."""

import subprocess
import tomllib
import venv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from launcher.addresses import Ports
from launcher.folders import ROOT
from launcher.stack import child_environment

pytestmark = pytest.mark.slow

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = (("server",), ("server", "inference"))
SITE = Path(str(distribution("celery").locate_file("")))

IMPORT_ALL = """
import importlib, os, pkgutil
import django
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
django.setup()
found = []
ours = "arena evalsite experience launcher live matches pages workers"
for package in ours.split():
    path = importlib.import_module(package).__path__
    found += [module.name for module in pkgutil.walk_packages(path, package + ".")]
found = [name for name in found if ".tests" not in name and "__main__" not in name]
for name in found:
    importlib.import_module(name)
print(len(found))
"""


def required(extras: Iterable[str]) -> set[str]:
    """Return the distributions that pip would install for us: the closure of our dependencies."""
    to_visit = [Requirement(f"evalsite[{','.join(extras)}]")]
    visited: set[tuple[str, str]] = set()
    while to_visit:
        requirement = to_visit.pop()
        name = canonicalize_name(requirement.name)
        if name == "evalsite":
            to_visit += [*map(Requirement, PROJECT["dependencies"])]
            for extra in requirement.extras:
                to_visit += map(Requirement, PROJECT["optional-dependencies"][extra])
            continue
        for extra in {"", *requirement.extras} - {e for n, e in visited if n == name}:
            visited.add((name, extra))
            children = map(Requirement, distribution(name).requires or [])
            to_visit += [
                child
                for child in children
                if child.marker is None or child.marker.evaluate({"extra": extra})
            ]
    return {name for name, _ in visited}


def recorded_paths(installed: Distribution) -> list[str]:
    """Return what it put into site-packages; programs in bin are not used, `-m` is."""
    lines = (installed.read_text("RECORD") or "").splitlines()
    paths = [line.rsplit(",", 2)[0].strip('"') for line in lines]
    return [path for path in paths if not path.startswith("../")]


def link_entry(entry: str, target: Path, chosen: set[str], owners: dict[str, set[str]]) -> None:
    """Put one entry of site-packages into another; file by file where others own a part of it."""
    if owners[entry] <= chosen:
        (target / entry).symlink_to(SITE / entry)
        return
    for name in owners[entry] & chosen:
        for path in recorded_paths(distribution(name)):
            if path.split("/", 1)[0] == entry:
                linked = target / path
                linked.parent.mkdir(parents=True, exist_ok=True)
                linked.symlink_to(SITE / path)


def make_environment(folder: Path, chosen: set[str]) -> Path:
    """Return the Python of a virtual environment that holds these distributions and no other.

    What pip would unpack there lies unpacked beside us, in the same versions (constraints.txt), so
    links to it are the same installation: importable is what the closure brings, and nothing else.
    They cost a second and no network; the long test does it with pip.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    (target,) = folder.glob("lib/python*/site-packages")
    owners: dict[str, set[str]] = defaultdict(set)
    for installed in distributions(path=[str(SITE)]):
        name = canonicalize_name(installed.metadata["Name"])
        for path in recorded_paths(installed):
            owners[path.split("/", 1)[0]].add(name)
    for entry in sorted(entry for entry in owners if owners[entry] & chosen):
        link_entry(entry, target, chosen, owners)
    return folder / "bin" / "python"


def run(python: Path, var: Path, ports: Ports, *arguments: str) -> str:
    """Run `./run` with this Python; return what it printed."""
    command = [str(python), "-m", "launcher", *arguments]
    environment = child_environment(var, ports.environment())
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    logs = "".join(path.read_text()[-2_000:] for path in var.glob("log/*"))
    assert done.returncode == 0, done.stdout + done.stderr + logs
    return done.stdout


def install_with_pip(folder: Path, extras: Sequence[str]) -> Path:
    """Return the Python of a virtual environment that pip filled as on a new machine."""
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    ours = f".[{','.join(extras)}]" if extras else "."
    install = (str(python), "-m", "pip", "install", "-q", "--no-compile")
    subprocess.run([*install, "-c", "constraints.txt", "-e", ours], cwd=ROOT, check=True)
    return python


def start_and_play(python: Path, folder: Path, *, gpus: int) -> None:
    """Start every program with this Python and play a few matches with them."""
    var, ports = folder / "var", Ports.free()
    shape = ("--detach", "--no-example", "--concurrency", "1", "--gpus", str(gpus))
    try:
        run(python, var, ports, "up", *shape)
        run(python, var, ports, "evaluate", "--num-matches", "20", "--timeout", "60")
        # Supervisor calls what lived for a second running, and starts again what then died.
        assert "exited" not in (var / "log" / "supervisord.log").read_text()
    finally:
        run(python, var, ports, "stop")


def test_every_module_of_a_server_is_there_with_the_runtime_dependencies_alone(
    tmp_path: Path,
) -> None:
    python = make_environment(tmp_path / "venv", required(EXTRAS[0]))
    done = subprocess.run(
        [python, "-c", IMPORT_ALL],
        cwd=ROOT,
        env=child_environment(tmp_path / "var", {"EVALSITE_DEBUG": "1"}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 500


@pytest.mark.long
@pytest.mark.parametrize("extras", EXTRAS, ids=" ".join)
def test_every_program_runs_from_the_runtime_dependencies_alone(
    extras: tuple[str, ...], tmp_path: Path
) -> None:
    python = make_environment(tmp_path / "venv", required(extras))
    start_and_play(python, tmp_path, gpus=int("inference" in extras))


@pytest.mark.long
@pytest.mark.parametrize("extras", EXTRAS, ids=" ".join)
def test_every_program_runs_from_what_pip_installs(extras: tuple[str, ...], tmp_path: Path) -> None:
    python = install_with_pip(tmp_path / "venv", extras)
    start_and_play(python, tmp_path, gpus=int("inference" in extras))
