"""The gate with each of its exit codes, and the watcher on a growing folder, on a real stack.

By the client as it is installed, from a machine without the clone.
"""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from launcher.folders import ROOT, read_variables
from launcher.stack import Stack, start_stack
from tests.installed import run

pytestmark = pytest.mark.slow

CHECKPOINTS = ROOT / "examples" / "connect_four" / "checkpoints"
Manage = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, migrated_database: Path) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("var")
    shutil.copy(migrated_database, var / "db.sqlite3")
    with start_stack(var, nodes=1, slots=2, gpus=1, web=True) as running:
        yield running


@pytest.fixture(scope="module")
def manage(stack: Stack, python: Path) -> Manage:
    access = read_variables(stack.plan.var / "client.env")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run(python, "-m", "evalsite_client", *arguments, **access)

    done = call("evaluate", "--agents", "level:40,level:60,level:50", "--num-matches", "6")
    assert done.returncode == 0, done.stderr
    return call


def test_the_gate_passes_fails_and_says_what_is_wrong(manage: Manage, tmp_path: Path) -> None:
    saved, summary = tmp_path / "gate.json", tmp_path / "gate.md"
    passed = manage(
        *("gate", "--candidate", "level:60", "--baseline", "level:40"),
        *("--json", str(saved), "--markdown", str(summary)),
    )
    assert passed.returncode == 0, passed.stderr
    assert re.search(r"PASS: \d+ Elo better \(.+ to .+\); level:60 is better than", passed.stdout)
    report = json.loads(saved.read_text())
    assert report["result"] == "pass"
    assert report["llr"] >= report["upper"]
    assert 2 * sum(report["blocks"]) == report["n_games"]
    assert report["pairs"]["elo"]["low"] < report["pairs"]["elo"]["elo"]
    assert report["forecast_before"]["matches"] > 0
    assert report["forecast"] is None
    assert "Matches to the verdict: about" in passed.stdout
    written = summary.read_text()
    assert written.startswith("### PASS: level:60 against level:40")
    assert "| points of two games | 0 | 1/2 | 1 | 3/2 | 2 |" in written
    assert "Likelihood of superiority |" in written
    failed = manage("gate", "--candidate", "level:40", "--baseline", "level:60")
    assert failed.returncode == 1
    assert re.search(r"FAIL: \d+ Elo worse \(.+ to .+\); level:40 is not better", failed.stdout)
    wrong = manage("gate", "--candidate", "level:40", "--baseline", "nobody")
    assert wrong.returncode == 2
    assert "baseline: 'nobody' is no kind of policy" in wrong.stderr


def test_asking_the_gate_again_goes_on_with_one_test(manage: Manage, tmp_path: Path) -> None:
    command = ("gate", "--candidate", "level:50", "--baseline", "level:40", "--bounds", "0,3")
    games = []
    for name in ("first", "second"):
        saved = tmp_path / f"{name}.json"
        done = manage(*command, "--max-matches", "20", "--json", str(saved))
        assert done.returncode == 3, done.stderr
        assert "UNDECIDED" in done.stdout
        games.append(json.loads(saved.read_text()))
    first, second = games
    assert second["n_games"] == first["n_games"] + 20
    # What was played on other leaderboards of the game counts, too.
    assert [report["n_reused"] for report in games] == [first["n_games"] - 20, first["n_games"]]
    assert all(report["forecast"]["more"]["llr_now"] == report["llr"] for report in games)


def test_the_watcher_notices_the_regression_of_a_run(
    manage: Manage, tmp_path: Path, alarms: list[dict[str, Any]], alarm_address: str
) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    watch = ("watch", str(folder), "--agent", "run", "--budget", "120", "--once")
    for step in (0, 960):
        source = CHECKPOINTS / f"connect_four_step_{step:06d}.safetensors"
        _put(source, folder / f"step_{step:06d}.safetensors")
        done = manage(*watch, "--webhook", alarm_address)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "of at most 120 matches, " in done.stdout
        assert f"run@{step}: rating" in done.stdout
    _put(_forgotten(source, tmp_path), folder / "step_001920.safetensors")
    done = manage(*watch, "--webhook", alarm_address)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "REGRESSION run@1920" in done.stdout
    (alarm,) = alarms
    assert (alarm["agent"], alarm["ancestor"]) == ("run@1920", "run@960")
    assert alarm["probability"] >= alarm["level"]
    nothing_new = manage(*watch)
    assert nothing_new.returncode == 0
    assert f"0 new checkpoint(s) in {folder}" in nothing_new.stdout
    assert "run@" not in nothing_new.stdout


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        (("--agent", "run", "--game", "poker"), "game: unknown game 'poker': did you mean "),
        (("--agent", "run", "--against", "nobody"), "against: 'nobody' is no kind of policy"),
        (("--agent", "run", "--against", "mcts:0"), "against: mcts: parameter 'simulations'"),
        (("--agent", " "), "agent: is missing or empty"),
    ],
)
def test_the_watcher_refuses_what_no_checkpoint_could_be_evaluated_with(
    manage: Manage, tmp_path: Path, options: tuple[str, ...], refusal: str
) -> None:
    done = manage("watch", str(tmp_path), "--once", *options)
    assert done.returncode == 2
    assert refusal in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture
def alarms() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def alarm_address(alarms: list[dict[str, Any]]) -> Iterator[str]:
    """Serve a webhook that keeps what it gets."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            alarms.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _put(source: Path, target: Path) -> None:
    """Write a file that looks as if it had been whole for a while."""
    shutil.copyfile(source, target)
    old = target.stat().st_mtime - 60
    os.utime(target, (old, old))


def _forgotten(source: Path, folder: Path) -> Path:
    """Return a checkpoint of the same form whose weights have nothing of what was learned."""
    rng = np.random.default_rng(1)
    with safe_open(source, "numpy") as opened:
        seal = opened.metadata()
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    noise = {
        name: (0.3 * rng.standard_normal(tensor.shape)).astype(tensor.dtype)
        for name, tensor in tensors.items()
    }
    target = folder / "forgotten.safetensors"
    save_file(noise, target, metadata=seal)
    return target
