"""A language model on the board: the example's HTTP agent on a real stack, its model a stand-in."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from environments.llmserve.tests.stub_model import KEY, StubModel, run_stub
from launcher.folders import ROOT
from launcher.stack import Stack, start_stack
from tests.commands import evalsite

pytestmark = [pytest.mark.slow, pytest.mark.long]

LIMIT_S, N_SEEDS = 900, 4
GAME = "llmserve_bursty_workload"
SAID = {
    "batch cap": 48,
    "KV cache": "60%",
    "speculation": 2,
    "precision": "INT8",
    "prefill and decode": "together",
    "priority": "on",
}
# The same as agents of the platform: what the model says all the time, and rules.
MODEL, RULES = "http_agent:model", "llmserve_rules"
CONSTANT = "llmserve_fixed:settings=48/0.6/2/INT8/together/on"


@pytest.fixture(scope="module")
def model() -> Iterator[StubModel]:
    """Run a stand-in for a model, which says the same about every window."""
    with run_stub(StubModel(answer=lambda number: json.dumps(SAID))) as stub:
        yield stub


@pytest.fixture(scope="module")
def agent(model: StubModel) -> Iterator[str]:
    """Run the example as its head says, asking the stand-in; return its address."""
    command = [sys.executable, "examples/agents/language_model.py", "--model", "m", "--port", "0"]
    settings = os.environ | {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model.url}
    with subprocess.Popen(
        command, cwd=ROOT, env=settings, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        yield running.stdout.readline().split()[0]
        running.terminate()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, agent: str) -> Iterator[Stack]:
    settings = {"EVALSITE_PROGRAMS": f"model={agent}"}
    var = tmp_path_factory.mktemp("var")
    with start_stack(var, nodes=1, slots=2, web=True, settings=settings) as running:
        yield running


def evaluate(stack: Stack, agents: str, n_episodes: int, seed: int) -> Any:
    what = ("--game", GAME, "--agents", agents, "--seed", str(seed))
    more = ("--num-matches", str(n_episodes), "--move-s", "60", "--json")
    done = evalsite(stack, "evaluate", *what, *more, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_model_is_rated_beside_others_and_scores_what_it_sets(
    stack: Stack, agent: str, model: StubModel
) -> None:
    before = requests.get(agent, timeout=5).json()["questions"]
    report = evaluate(stack, f"{MODEL},{CONSTANT},{RULES}", 3 * N_SEEDS, seed=1)
    assert (report["completed"], report["forfeits"]) == (3 * N_SEEDS, 0)
    rated = {row["agent"]: row for row in report["ratings"]}
    # On each common seed the same score as the constant, and a better one than the rules.
    assert rated[MODEL]["draws"] == rated[CONSTANT]["draws"] > 0
    assert rated[RULES]["losses"] == rated[MODEL]["wins"] + rated[CONSTANT]["wins"] > 0
    assert [rated[name]["losses"] for name in (MODEL, CONSTANT)] == [0, 0]
    figures, n_played = requests.get(agent, timeout=5).json(), rated[MODEL]["games"]
    # A window is asked about once; the first one looks the same in every episode.
    assert n_played * 89 <= figures["questions"] - before <= n_played * 90
    assert figures["questions"] == len(model.requests)
    assert figures["settings_kept"] == 0


def test_an_api_that_fails_for_a_while_costs_an_attempt_and_no_forfeit(
    stack: Stack, model: StubModel
) -> None:
    fails_from = len(model.requests) + 100
    model.status = lambda number: 500 if fails_from <= number < fails_from + 4 else 200
    report = evaluate(stack, f"{MODEL},{RULES}", 2 * N_SEEDS, seed=2)
    assert (report["completed"], report["forfeits"]) == (2 * N_SEEDS, 0)
    assert sum(report["failed_attempts"].values()) + report["retried"] > 0
