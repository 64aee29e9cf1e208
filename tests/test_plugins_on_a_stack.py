"""A broken plug-in, a game of one seat and one that only a terminal knows, beside healthy ones."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from launcher.folders import ROOT
from launcher.stack import Stack, start_stack

pytestmark = [pytest.mark.slow, pytest.mark.long]

PLUGINS = ROOT / "examples" / "plugins"
LIMIT_S = 120
Evaluate = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return plug-ins of which two can be used."""
    root = tmp_path_factory.mktemp("plugins")
    for family in ("games", "policies"):
        (root / family).mkdir()
    nim = (PLUGINS / "games/nim.py").read_text()
    (root / "games/nim.py").write_text(nim)
    (root / "policies/centre.py").write_text((PLUGINS / "policies/centre.py").read_text())
    (root / "games/broken.py").write_text("import a_module_that_is_not_there")
    (root / "policies/broken.py").write_text("POLICY = (")
    solo = nim.replace('id="nim"', 'id="solo"').replace("n_seats=2", "n_seats=1")
    (root / "games/solo.py").write_text(solo)
    return root


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Stack]:
    var, settings = tmp_path_factory.mktemp("var"), {"EVALSITE_PLUGINS": str(folder)}
    with start_stack(var, nodes=1, slots=2, web=True, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def evaluate(stack: Stack) -> Evaluate:
    def run(game: str, *agents: str, plugins: str = "") -> "subprocess.CompletedProcess[str]":
        named = {"EVALSITE_PLUGINS": plugins} if plugins else {}
        command = [sys.executable, "manage.py", "evaluate", "--game", game, "--num-matches", "40"]
        return subprocess.run(
            [*command, "--agents", ",".join(agents)],
            cwd=ROOT,
            env={**stack.env, **named},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )

    return run


def page(stack: Stack, address: str) -> str:
    with urlopen(f"http://127.0.0.1:{stack.plan.ports.web}{address}") as answer:
        return str(answer.read().decode())


def test_one_bad_plugin_stops_nothing_else(
    stack: Stack, evaluate: Evaluate, folder: Path, tmp_path: Path
) -> None:
    for game, word in (("broken", "No module named"), ("solo", "of one seat cannot be rated")):
        refused = evaluate(game, "random", "greedy")
        assert refused.returncode == 2, refused.stderr
        assert word in refused.stderr
    # Of a game that this terminal knows and control does not.
    (tmp_path / "games").mkdir()
    (tmp_path / "games/other.py").write_text((PLUGINS / "games/nim.py").read_text())
    held = evaluate("other", "random", "centre", plugins=f"{folder}:{tmp_path}")
    assert held.returncode == 1, held.stderr
    assert "nothing counted: held back, game: unknown game 'other'" in held.stderr
    for game in ("nim", "connect_four"):
        done = evaluate(game, "random", "centre" if game == "nim" else "greedy")
        assert done.returncode == 0, done.stderr
        assert "Completed 40 of which" in done.stdout
    assert "other (unknown here)" in page(stack, "/leaderboards/")
    assert "<h1>" in page(stack, "/")
    system = page(stack, "/system/")
    for name in ("games/broken.py", "games/solo.py", "policies/broken.py"):
        assert str(folder / name) in system
    ready = json.loads(page(stack, "/readyz"))
    assert ready["status"] == "ready"
    assert "broken.py" in ready["checks"]["plug-ins"]["detail"]
