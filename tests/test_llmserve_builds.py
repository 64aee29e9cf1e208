"""LLMServe's numbers in every build of Python on this machine, each with two releases of NumPy.

It finds interpreters on the path and among those of pyenv, and installs NumPy from the index:
`./run test tests/test_llmserve_builds.py -m long`, ten seconds for each.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from launcher.folders import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.long]

TESTS = ROOT / "environments" / "llmserve" / "tests"
EXPECTED = json.loads((TESTS / "fingerprint.json").read_text())
NAMES = ("python3", *(f"python3.{minor}{kind}" for minor in range(11, 16) for kind in ("", "-dbg")))
# The oldest that has wheels for each of them, and the newest that their index has.
NUMPYS = ("numpy==2.4.1", "numpy>=2.4")
ABOUT = "import sys; print(sys.version_info >= (3, 11), sys.version, sys.flags, sys.abiflags)"


def find_pythons() -> dict[str, str]:
    """Return a command for each build that the package allows, by what it says of itself."""
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":")]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders += sorted(pyenv.glob("versions/*/bin"))
    pythons: dict[str, str] = {}
    for path in (folder / name for folder in folders for name in NAMES):
        about = _ask(path)
        if about.startswith("True "):
            pythons.setdefault(about, str(path))
    return pythons


def _ask(python: Path) -> str:
    if not os.access(python, os.X_OK):
        return ""
    done = subprocess.run([python, "-I", "-c", ABOUT], capture_output=True, text=True, check=False)
    return done.stdout.strip()


@pytest.mark.parametrize("numpy", NUMPYS)
def test_every_build_of_python_comes_to_the_same_numbers(numpy: str, tmp_path: Path) -> None:
    pythons = find_pythons()
    assert pythons
    for number, (about, python) in enumerate(pythons.items()):
        assert take_fingerprint(python, numpy, tmp_path / str(number)) == EXPECTED, about


def take_fingerprint(python: str, numpy: str, folder: Path) -> object:
    """Return what a build comes to, in an environment that has this NumPy and nothing else."""
    # Debian's builds bring no pip: that of this process installs for the other.
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    own = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", own, "install", "--only-binary", ":all:")
    subprocess.run([*pip, "-q", numpy], check=True)
    done = subprocess.run([own, TESTS / "fingerprint.py"], capture_output=True, check=True)
    return json.loads(done.stdout)
