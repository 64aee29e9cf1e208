"""The client as `pip install .` gives it, in an environment of its own, far from any clone."""

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from launcher.folders import ROOT

CLIENT = ("requests", "urllib3", "certifi", "idna", "charset-normalizer")
"""What the client needs, with what that needs."""
LIMIT_S = 120


def copy_clone(folder: Path, *paths: str) -> None:
    """Copy the files of the clone below these paths, or all: what git has, and what is new."""
    command = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *paths)
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        # Not there: deleted since the last commit.
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def build_wheel(folder: Path) -> Path:
    """Return the wheel of the clone, built with what is installed."""
    source = folder / "source"
    # A copy: a build leaves its own folders beside the sources.
    copy_clone(source, "arena", "evalsite_client", "inference", "pyproject.toml")
    build = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    subprocess.run([*build, "-w", str(folder), str(source)], check=True)
    (built,) = folder.glob("evalsite-*.whl")
    return built


def install(wheel: Path, folder: Path) -> Path:
    """Return the Python of a fresh environment with the wheel and what the client needs."""
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    link(site, CLIENT)
    return folder / "bin" / "python"


def link(site: Path, names: tuple[str, ...]) -> None:
    """Let an environment have distributions that are installed beside us."""
    for name in names:
        package = distribution(name)
        tops = {path.parts[0] for path in package.files or () if path.parts[0] != ".."}
        for top in tops:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(package.locate_file(top))))


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
