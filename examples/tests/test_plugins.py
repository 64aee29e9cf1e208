"""The plug-ins to copy are found, and keep to what every entry of their family must keep to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = Path(__file__).resolve().parent.parent / "plugins"
ROOT = PLUGINS.parent.parent

# The checks of each family, in a process of its own: catalogs are read once.
CHECK = """
from arena.games import registry as games
from arena.policies import registry as policies
from inference.architectures import registry as architectures
from tests import architecture_checks, game_checks, policy_checks

nim, centre, linear = games.get("nim"), policies.get("centre"), architectures.get("linear")
for check in game_checks.CHECKS:
    check(nim)
for check in policy_checks.CHECKS:
    check(centre, nim)
for check in architecture_checks.CHECKS:
    check(linear, nim)
print(nim.spec.id, centre.id, linear.id, *(name for name in ("chess",) if name in games.names()))
"""


@pytest.mark.slow
def test_the_plugins_are_found_and_pass_the_checks_of_their_families() -> None:
    environment = {**os.environ, "EVALSITE_PLUGINS": str(PLUGINS), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CHECK]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["nim", "centre", "linear", "chess"], done.stderr


def test_there_is_one_plugin_of_every_family() -> None:
    found = sorted(path.relative_to(PLUGINS).as_posix() for path in PLUGINS.glob("*/*.py"))
    assert found == ["architectures/linear.py", "games/nim.py", "policies/centre.py"]
