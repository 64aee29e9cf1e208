"""LLMServe through the queue: the package's own scores to the last bit, and who is best."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from arena.games import registry
from arena.ratings.counts import Floats
from arena.verdicts.base import Terms
from arena.verdicts.score_questions import FIRST_SEEDS, PlayedScores, group_sizes, judge_order
from benchmarks.storm import oracle
from launcher.stack import Stack, start_stack
from tests.llmserve_on_a_stack import (
    PACKAGE,
    TASKS,
    Scores,
    find_database,
    keep_figures,
    name_agents,
    name_game,
    open_board,
    read_json,
    read_scores,
    run,
    run_under_kills,
)

pytestmark = [pytest.mark.slow, pytest.mark.long]

N_SEEDS, ERROR = 30, 0.05
MAX_MATCHES = 40_000
# Of the agents that evaluate.py scores, those that decide by what the platform gives them, too:
# a random one draws by a seed of its own. {} is the task.
SAME = {
    "heuristic": "rules",
    "best_fixed": "fixed-{}",
    "switch": "switch-{}",
    "ppo": "ppo-{}",
    "lookahead": "lookahead",
}


class Board(NamedTuple):
    """The board of a task after a tournament in which all agents played the same seeds."""

    task: str
    tournament: int
    n_kills: int


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    var = tmp_path_factory.mktemp("var")
    with start_stack(var, nodes=2, slots=1, gpus=1, web=True) as stack:
        yield stack


@pytest.fixture(scope="module", params=TASKS)
def board(request: pytest.FixtureRequest, stack: Stack) -> Board:
    """Play all agents, of the other tasks, too, while play nodes are killed."""
    task, agents = request.param, name_agents()
    open_board(stack, task)
    command = ("schedule", "-l", task, "-n", str(N_SEEDS * len(agents)), *agents, "--watch")
    played = run_under_kills(stack, *command)
    (tournament,) = read_json(stack, "tournaments", "-l", task)
    return Board(task, tournament["id"], played.n_kills)


def assert_sound(stack: Stack) -> None:
    """Refuse a record with an episode that was lost or doubled; a verdict cancels what is open."""
    margin = registry.get(name_game(TASKS[0])).spec.score_margin
    record = oracle.read_record(find_database(stack), score_margin=margin)
    n_cancelled = sum(fault.endswith("was left cancelled") for fault in record.faults)
    assert record.faults[n_cancelled:] == []
    assert record.n_void == 0
    assert len(record.outcomes) + n_cancelled == record.n_planned
    assert record.n_counted == sum(1 for _ in record.results())


def test_all_agents_are_ranked_with_intervals_though_nodes_were_killed(
    stack: Stack, board: Board, tmp_path: Path
) -> None:
    assert_sound(stack)
    assert board.n_kills > 0
    scores = read_scores(stack, board.task, board.tournament, tmp_path)
    seeds = set(scores["random"])
    assert len(seeds) == N_SEEDS
    assert all(set(by_seed) == seeds for by_seed in scores.values())
    rows = read_json(stack, "board", board.task)
    assert {row["agent"]["name"] for row in rows} == set(name_agents())
    for row in rows:
        assert row["low"] < row["mu"] < row["high"]


@pytest.mark.parametrize("agent", SAME)
def test_returns_are_those_of_the_package_to_the_last_bit(
    stack: Stack, board: Board, agent: str, tmp_path: Path
) -> None:
    scores = read_scores(stack, board.task, board.tournament, tmp_path)
    ours = scores[SAME[agent].format(board.task)]
    seeds, path = tmp_path / "seeds.txt", tmp_path / "figures.json"
    seeds.write_text("\n".join(map(str, ours)))
    options = ("--agent", agent, "--task", board.task, "--seeds", str(seeds), "--json", str(path))
    command = [sys.executable, "evaluate.py", *options]
    done = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(path.read_text())
    assert dict(zip(figures["seeds"], figures["scores"][board.task][agent], strict=True)) == ours


def test_a_campaign_takes_fewer_episodes_than_equal_sampling_though_nodes_were_killed(
    stack: Stack, board: Board, tmp_path: Path
) -> None:
    spec = registry.get(name_game(board.task)).spec
    path, margin = tmp_path / "verdict.json", spec.score_margin
    terms = ("--margin-score", str(margin), "--error", str(ERROR))
    command = ("campaign", "-l", board.task, *terms, "--max-matches", str(MAX_MATCHES))
    played = run_under_kills(stack, *command, "--json", str(path))
    verdict = json.loads(path.read_text())
    n_equal = count_equal_episodes(stack, board, verdict["tournament"], margin, tmp_path)
    assert_sound(stack)
    assert played.n_kills > 0
    columns = ("statement", "why", "probability", "n_played")
    figures = {name: verdict[name] for name in columns} | {
        "n_equal": n_equal,
        "kills": played.n_kills,
    }
    keep_figures(board.task, figures)
    assert verdict["why"] in {"decided", "within_margin"}
    assert verdict["probability"] >= 1 - ERROR
    assert verdict["n_played"] < n_equal


def count_equal_episodes(
    stack: Stack, board: Board, tournament: int, margin: float, folder: Path
) -> int:
    """Return how many episodes the same answer takes if all agents play the campaign's seeds.

    What the campaign has played of them is known and not played again.
    """
    tournaments = read_json(stack, "tournaments", "-l", board.task)
    seed = next(row["seed"] for row in tournaments if row["id"] == tournament)
    played = read_scores(stack, board.task, tournament, folder)
    agents, n_seeds = name_agents(), max(map(len, played.values()))
    name = f"{board.task}-equally-{tournament}"
    run(stack, "open", name, "--game", name_game(board.task))
    plan = ("-n", str(n_seeds * len(agents)), "--seed", str(seed), *agents, "--watch")
    run(stack, "schedule", "-l", name, *plan)
    (equal,) = read_json(stack, "tournaments", "-l", name)
    while (n := count_equal_seeds(read_table(stack, name, equal["id"], folder), margin)) is None:
        n_seeds += n_seeds // 20
        run(stack, "extend", str(equal["id"]), "-n", str(n_seeds * len(agents)))
        run(stack, "watch", str(equal["id"]))
    return n * len(agents)


def read_table(stack: Stack, name: str, tournament: int, folder: Path) -> Floats:
    """Return scores by agent and game seed: float64 [n, seeds]."""
    scores: Scores = read_scores(stack, name, tournament, folder)
    seeds = list(scores["random"])
    return np.array([[by_seed[seed] for seed in seeds] for by_seed in scores.values()])


def count_equal_seeds(table: Floats, margin: float) -> int | None:
    """Return after how many seeds of all agents the rule of the campaign ends; None if never."""
    sizes, terms = group_sizes("best", len(table)), Terms(ERROR, margin)
    for n_seeds in range(FIRST_SEEDS, table.shape[1] + 1):
        if judge_order(PlayedScores(table[:, :n_seeds], (0.0, 1.0)), sizes, terms):
            return n_seeds
    return None
