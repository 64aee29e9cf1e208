"""LLMServe's agents on a running stack, matches under kills, and what the board has of them."""

import csv
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any, NamedTuple

import psutil

from benchmarks.storm import oracle
from launcher.folders import ROOT
from launcher.stack import Stack
from tests.commands import command_line, evalsite

PACKAGE = ROOT / "environments" / "llmserve"
TASKS = ("static_workload", "bursty_workload", "adversarial_multitenant")
NODES, EPISODES_PER_KILL, LOOK_EVERY_S = ("node-1", "node-2"), 100, 1.0
LIMIT_S = 3 * 3_600
NETWORK = ("--architecture", "mlp", "-p", "hidden=128,128", "-p", "activation=tanh")
Scores = dict[str, dict[int, float]]
"""By agent and game seed."""


class Played(NamedTuple):
    """A command that has ended with 0, and how often a play node was killed meanwhile."""

    out: str
    n_kills: int


def open_board(stack: Stack, task: str) -> None:
    """Open the board of a task and enter all agents there are, those of the other tasks, too."""
    game = name_game(task)
    run(stack, "open", task, "--game", game)
    for name, policy, *parameters in list_agents():
        options = [word for parameter in parameters for word in ("-p", parameter)]
        run(stack, "register", name, "--game", game, "--policy", policy, *options)
    for owner in TASKS:
        file = str(PACKAGE / "weights" / f"{owner}.safetensors")
        options = ["--name", f"ppo-{owner}", "--game", game, *NETWORK, "--placement", "gpu"]
        run(stack, "upload", file, *options, "--wait")


def list_agents() -> Iterator[tuple[str, ...]]:
    """Yield name, policy and parameters of each agent that is no network."""
    for policy in ("random", "llmserve_rules", "llmserve_lookahead"):
        yield policy.removeprefix("llmserve_"), policy
    for owner, tuned in json.loads((PACKAGE / "llmserve_env" / "tuned.json").read_text()).items():
        yield f"fixed-{owner}", "llmserve_fixed", f"settings={tuned['fixed']}"
        switch = (f"{name}={value}" for name, value in tuned["switch"].items())
        yield f"switch-{owner}", "llmserve_switch", *switch


def name_agents() -> list[str]:
    """Return the names of all agents."""
    return [name for name, *_ in list_agents()] + [f"ppo-{owner}" for owner in TASKS]


def name_game(task: str) -> str:
    return f"llmserve_{task}"


def run(stack: Stack, *words: str) -> str:
    done = evalsite(stack, *words, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def run_under_kills(stack: Stack, *words: str) -> Played:
    """Run a command while play nodes are killed in turn, one whenever so many episodes are over."""
    database, n_kills = find_database(stack), 0
    next_kill = oracle.read_progress(database).n_outcomes + EPISODES_PER_KILL
    with Popen(
        command_line(*words), cwd=ROOT, env=dict(stack.env), stdout=PIPE, stderr=PIPE, text=True
    ) as child:
        while True:
            with suppress(TimeoutExpired):
                out, err = child.communicate(timeout=LOOK_EVERY_S)
                break
            pid = stack.pids().get(NODES[n_kills % len(NODES)])
            n_outcomes = oracle.read_progress(database).n_outcomes
            if pid is not None and n_outcomes >= next_kill:
                psutil.Process(pid).kill()
                n_kills, next_kill = n_kills + 1, n_outcomes + EPISODES_PER_KILL
    assert child.returncode == 0, err
    return Played(out, n_kills)


def find_database(stack: Stack) -> str:
    return str(stack.plan.var / "db.sqlite3")


def keep_figures(task: str, figures: Mapping[str, Any]) -> None:
    """Write what was measured on a task into the data folder of the clone."""
    folder = ROOT / "var" / "llmserve"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{task}.json").write_text(json.dumps(figures, indent=2) + "\n")


def read_json(stack: Stack, *words: str) -> Any:
    return json.loads(run(stack, *words, "--json"))


def read_scores(stack: Stack, board: str, tournament: int, folder: Path) -> Scores:
    """Return what a user finds in the exported results, in planned order."""
    path = folder / f"{board}.csv"
    run(stack, "results", "export", "-l", board, "--out", str(path))
    scores: Scores = {name: {} for name in name_agents()}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if int(row["tournament"]) == tournament:
                scores[row["agent_0"]][int(row["game_seed"])] = float(row["returns"])
    return scores
