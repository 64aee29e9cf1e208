"""A broken plug-in, a game without a seat, one that only a terminal knows, beside healthy ones."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import pytest

from arena.queues import play_queue
from launcher import programs
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
        options = ("--game", game, "--num-matches", "40", "--agents", ",".join(agents))
        return evalsite(stack, "evaluate", *options, timeout=LIMIT_S)

    return run


def schedule(stack: Stack, game: str, *, plugins: str) -> None:
    """Schedule a tournament with plug-ins that the programs of the stack have not."""
    code = (
        "from matches.store.clock import db_now; from matches.ledger import evaluation as e; "
        "from matches.plans import TournamentPlan; "
        "plan = TournamentPlan(name='other', n_matches=40); "
        f"e.start_evaluation(e.Evaluation({game!r}, plan, ['random', 'centre']), now=db_now())"
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


@contextmanager
def node_elsewhere(stack: Stack, name: str, **settings: str) -> Iterator[None]:
    """Run a play node of its own beside the stack's, until control knows it."""
    admit = [sys.executable, "manage.py", "node", "add", name]
    printed = subprocess.check_output(admit, cwd=ROOT, env=dict(stack.env), text=True)
    own = dict(line.split("=", 1) for line in printed.splitlines() if "=" in line)
    command = programs.worker("workers", name, play_queue(name), ("-P", "solo"))
    environment = {"PATH": os.environ["PATH"], "EVALSITE_ALIVE_S": "1", **own, **settings}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as running:
        try:
            end = monotonic() + LIMIT_S
            while name not in read_nodes(stack):
                assert monotonic() < end, f"{name} has not reported"
                sleep(0.2)
            yield
        finally:
            running.terminate()


def read_nodes(stack: Stack) -> dict[str, dict[str, str]]:
    """Return the plug-in files of each node."""
    nodes = json.loads(evalsite(stack, "workers", "--json").stdout)
    return {node["node"]: node["plugins"] for node in nodes}


def page(stack: Stack, address: str) -> str:
    with urlopen(f"http://127.0.0.1:{stack.plan.ports.web}{address}") as answer:
        return str(answer.read().decode())


def wait_until_shown(stack: Stack, text: str) -> None:
    """Wait until the system page has a text: it shows what control saw, up to five seconds ago."""
    end = monotonic() + LIMIT_S
    while text not in (shown := page(stack, "/system/")):
        assert monotonic() < end, shown
        sleep(0.2)


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
    assert "other (unknown here)" in page(stack, "/leaderboards/?state=unlisted")
    assert "<h1>" in page(stack, "/")
    system = page(stack, "/system/")
    rows = re.findall("<tr.*?</tr>", system, re.DOTALL)
    for file, reason in (
        ("broken.py", "No module named"),
        ("solo.py", "someone must play"),
        ("broken.py", "was never closed"),
    ):
        assert [row for row in rows if f"/{file}<" in row and reason in row], rows
    assert str(folder) not in system, "where they lie is for staff"
    ready = json.loads(page(stack, "/readyz"))
    assert ready["status"] == "ready"
    assert "broken.py" in ready["checks"]["plug-ins"]["detail"]


def test_a_node_with_another_file_of_a_game_gets_none_of_its_matches(
    stack: Stack, evaluate: Evaluate, folder: Path, tmp_path: Path
) -> None:
    edited = tmp_path / "games/nim.py"
    edited.parent.mkdir()
    edited.write_text((folder / "games/nim.py").read_text() + "# edited\n")
    with node_elsewhere(stack, "elsewhere", EVALSITE_PLUGINS=str(tmp_path), EVALSITE_SLOTS="2"):
        files = {node: plugins["games/nim"] for node, plugins in read_nodes(stack).items()}
        assert files == {
            "node-1": sha256((folder / "games/nim.py").read_bytes()).hexdigest(),
            "elsewhere": sha256(edited.read_bytes()).hexdigest(),
        }
        done = evaluate("nim", "random", "centre")
        assert "Completed 40 of which" in done.stdout, done.stderr
        wait_until_shown(stack, f"elsewhere has {files['elsewhere'][:12]}")
    (newest,) = json.loads(evalsite(stack, "tournaments", "--limit", "1", "--json").stdout)
    assert newest["n_retried"] == 0, "what is sent to the wrong node fails there first"
