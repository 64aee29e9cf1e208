"""A broken plug-in, a game without a seat, one that only a terminal knows, beside healthy ones."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import pytest

from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from matches.tests.plugin_folder import write_plugins
from tests.commands import evalsite

pytestmark = [pytest.mark.slow, pytest.mark.long]

LIMIT_S = 120
Evaluate = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return plug-ins of which two can be used."""
    root = tmp_path_factory.mktemp("plugins")
    write_plugins(root)
    nim = (root / "games/nim.py").read_text()
    (root / "games/broken.py").write_text("import a_module_that_is_not_there")
    (root / "policies/broken.py").write_text("POLICY = (")
    solo = nim.replace('id="nim"', 'id="solo"').replace("n_seats=2", "n_seats=0")
    (root / "games/solo.py").write_text(solo)
    return root


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Stack]:
    var, settings = tmp_path_factory.mktemp("var"), {"EVALSITE_PLUGINS": str(folder)}
    with start_stack(var, nodes=1, slots=2, web=True, settings=settings) as running:
        yield running


@pytest.fixture(scope="module")
def evaluate(stack: Stack) -> Evaluate:
    def run(game: str, *agents: str) -> "subprocess.CompletedProcess[str]":
        wanted = ("--game", game, "--num-matches", "40", "--agents", ",".join(agents))
        return evalsite(stack, "evaluate", *wanted, timeout=LIMIT_S)

    return run


def schedule(stack: Stack, game: str, *, plugins: str) -> None:
    """Schedule a tournament with plug-ins that the programs of the stack have not."""
    code = (
        "from matches.store.clock import db_now; from matches.ledger import evaluation as e; "
        "from matches.plans import TournamentPlan; "
        "plan = TournamentPlan(name='other', n_matches=40); "
        f"e.start(e.Evaluation({game!r}, plan, ['random', 'centre']), now=db_now())"
    )
    environment = {**stack.env, "EVALSITE_PLUGINS": plugins}
    command = [sys.executable, "manage.py", "shell", "-c", code]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=LIMIT_S)


def wait_until_held_back(stack: Stack, why: str) -> None:
    """Wait until the newest tournament says why control holds it back."""
    end = monotonic() + LIMIT_S
    while True:
        (newest,) = json.loads(evalsite(stack, "tournaments", "--limit", "1", "--json").stdout)
        if newest["problem"].startswith("held back, game: ") and why in newest["problem"]:
            return
        assert monotonic() < end, newest
        sleep(0.2)


def page(stack: Stack, address: str) -> str:
    with urlopen(f"http://127.0.0.1:{stack.plan.ports.web}{address}") as answer:
        return str(answer.read().decode())


def test_one_bad_plugin_stops_nothing_else(
    stack: Stack, evaluate: Evaluate, folder: Path, tmp_path: Path
) -> None:
    for game, word in (("broken", "No module named"), ("solo", "someone must play")):
        refused = evaluate(game, "random", "greedy")
        assert refused.returncode == 2, refused.stderr
        assert word in refused.stderr
    # Of a game that this process knows and control does not.
    (tmp_path / "games").mkdir()
    (tmp_path / "games/other.py").write_text((folder / "games/nim.py").read_text())
    schedule(stack, "other", plugins=f"{folder}:{tmp_path}")
    wait_until_held_back(stack, "unknown game 'other'")
    for game in ("nim", "connect_four"):
        done = evaluate(game, "random", "centre" if game == "nim" else "greedy")
        assert done.returncode == 0, done.stderr
        assert "Completed 40 of which" in done.stdout
    (node,) = json.loads(evalsite(stack, "workers", "--json").stdout)
    here = sha256((folder / "games/nim.py").read_bytes()).hexdigest()
    assert node["plugins"]["games/nim"] == here, "by which it was sent the matches of nim"
    assert "other (unknown here)" in page(stack, "/leaderboards/")
    assert "<h1>" in page(stack, "/")
    system = page(stack, "/system/")
    for name in ("games/broken.py", "games/solo.py", "policies/broken.py"):
        assert str(folder / name) in system
    ready = json.loads(page(stack, "/readyz"))
    assert ready["status"] == "ready"
    assert "broken.py" in ready["checks"]["plug-ins"]["detail"]
