"""Find the constants that learned agents are measured against, and score agents on seeds."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final, NamedTuple

from llmserve_env.simulator.agents import (
    Decide,
    Fixed,
    Switch,
    find_choices,
    read_settings,
    tell_settings,
)
from llmserve_env.simulator.grading import Grader
from llmserve_env.simulator.settings import FIRST, Settings, choose
from llmserve_env.simulator.simulator import Server
from llmserve_env.simulator.workload import TASKS

TUNED: Final = Path(__file__).with_name("tuned.json")
"""What tune.py has found: text by text, so that a person reads it, too."""

FP16, INT8, INT4 = range(3)
# FP16 does not fit twice: split it is the same as together.
DEPLOYMENTS = ((FP16, False), (INT8, False), (INT8, True), (INT4, False), (INT4, True))
CAPS, SHARES, DEPTHS = (16, 32, 64, 128, 256), (0.4, 0.7, 1.0), (0, 1, 2, 3, 4, 6)
QUEUES = (3.0, 8.0, 20.0)
"""From where on a switch takes its second settings."""
N_OVERALL, N_OF_EACH = 60, 12
"""Constants that are tried as one of two: the best, and the best of each deployment."""
N_ROUNDS = 2


def list_constants() -> list[Settings]:
    """Return the grid of constant settings: 900."""
    grid = product(CAPS, SHARES, DEPTHS, DEPLOYMENTS, (False, True))
    return [Settings(cap, kv, depth, *where, first) for cap, kv, depth, where, first in grid]


def score_episode(task: str, decide: Decide, seed: int) -> float:
    """Return the grader's score of an episode in which each window is set by choices."""
    server, grader, last = Server(TASKS[task], seed), Grader(), FIRST
    while not server.is_over:
        last = choose(find_choices(decide(server, last)))
        grader.add(server.run_window(last))
    return grader.score()


class Scored(NamedTuple):
    """A yardstick and its score on each seed."""

    agent: Fixed | Switch
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over all seeds."""
        return mean(self.scores)


def score_all(
    task: str, agents: Iterable[Fixed | Switch], seeds: Sequence[int], *, n_processes: int
) -> list[Scored]:
    """Return the agents with their scores, the best first."""
    listed = list(agents)
    # Forked, as ablate.py changes the simulator of its process.
    with get_context("fork").Pool(n_processes) as pool:
        scored = pool.map(partial(_score, task, seeds), listed, chunksize=8)
    return sorted(scored, key=lambda one: one.mean, reverse=True)


def _score(task: str, seeds: Sequence[int], agent: Fixed | Switch) -> Scored:
    return Scored(agent, tuple(score_episode(task, agent.decide, seed) for seed in seeds))


def find_switch(
    task: str, constants: Sequence[Scored], seeds: Sequence[int], *, n_processes: int
) -> Scored:
    """Return the best pair of settings with a threshold that was found: each side in turn.

    constants: the whole grid, the best first.
    """
    settings = _shortlist(constants)
    best = Scored(Switch(settings[0], settings[0], QUEUES[0]), constants[0].scores)
    for _ in range(N_ROUNDS):
        for side in ("calm", "crowded"):
            switches = [
                best.agent._replace(**{side: one}, queue_depth=queue)
                for one in settings
                for queue in QUEUES
            ]
            candidate = score_all(task, switches, seeds, n_processes=n_processes)[0]
            best = max(best, candidate, key=lambda one: one.mean)
    return best


def _shortlist(constants: Sequence[Scored]) -> list[Settings]:
    ordered = [scored.agent.settings for scored in constants]
    chosen = ordered[:N_OVERALL]
    for deployment in DEPLOYMENTS:
        alike = [one for one in ordered if (one.tier, one.is_split) == deployment]
        chosen += alike[:N_OF_EACH]
    return list(dict.fromkeys(chosen))


class Paired(NamedTuple):
    """How far one agent is ahead of another on the same seeds; se: the mean's standard error."""

    mean: float
    se: float
    wins: float


def compare(ours: Sequence[float], theirs: Sequence[float]) -> Paired:
    """Return the difference of two agents on equal seeds, two at least."""
    differences = [one - other for one, other in zip(ours, theirs, strict=True)]
    se = stdev(differences) / len(differences) ** 0.5
    return Paired(mean(differences), se, mean(one > 0 for one in differences))


def read_tuned(path: Path = TUNED) -> dict[str, tuple[Fixed, Switch]]:
    """Return the best constant and the best switch of each task, as tune.py has found them."""
    return {task: _read_one(agents) for task, agents in json.loads(path.read_text()).items()}


def _read_one(agents: Mapping[str, Any]) -> tuple[Fixed, Switch]:
    switch = agents["switch"]
    calm, crowded = read_settings(switch["calm"]), read_settings(switch["crowded"])
    return Fixed(read_settings(agents["fixed"])), Switch(calm, crowded, switch["queue_depth"])


def tell_tuned(fixed: Fixed, switch: Switch) -> dict[str, Any]:
    """Return what `read_tuned` reads of a task."""
    return {
        "fixed": tell_settings(fixed.settings),
        "switch": {
            "calm": tell_settings(switch.calm),
            "crowded": tell_settings(switch.crowded),
            "queue_depth": switch.queue_depth,
        },
    }
