"""Switch off the trade-offs of the node in turn, and see what a policy gains over a constant.

    python ablate.py [--task TASK] [--off NAME ...] [--steps 86400] [--episodes 200] [--json FILE]

In each world the best of 900 constants is found anew, a policy is trained from nothing, and both
are scored on equal seeds. docs/llmserve.md of evalsite says what is expected of each, and why.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from llmserve_env.network import Network
from llmserve_env.simulator import hardware, simulator
from llmserve_env.simulator.agents import Decide, Fixed, tell_settings
from llmserve_env.simulator.hardware import TIERS, Deployment
from llmserve_env.simulator.settings import Settings
from llmserve_env.simulator.workload import BURSTY, TASKS
from llmserve_env.yardsticks import (
    INT8,
    Paired,
    compare,
    list_constants,
    score_all,
    score_episode,
)
from train import train

SEED0: Final = 20_000
"""The first seed on which both are scored: none that anything here was chosen on."""
LEAST: Final = {"steps": 1_440, "episodes": 2, "tuning_episodes": 1, "seed": 0, "jobs": 1}


class Compared(NamedTuple):
    """A policy and the best constant of a world: mean scores, and the paired difference."""

    off: str
    task: str
    constant: str
    fixed: float
    ppo: float
    gap: Paired


def _deploy_together(settings: Settings) -> Deployment:
    return hardware.deploy(settings._replace(is_split=False))


def _deploy_freely(settings: Settings) -> Deployment:
    return hardware.deploy(settings)._replace(row_s=0.0, context_s=0.0)


def _deploy_alike(settings: Settings) -> Deployment:
    return _deploy_freely(settings._replace(is_split=False))


Change = tuple[ModuleType, str, Any]
DRAFTS: Final[Change] = (simulator, "expect_tokens", lambda *_: 1.0)
PRECISION: Final[Change] = (hardware, "TIERS", (TIERS[INT8],) * len(TIERS))
LOADING: Final[Sequence[Change]] = (
    (hardware, "LOADING", float("inf")),
    (hardware, "RESTART_S", 0.0),
)
OFF: Final[Mapping[str, Sequence[Change]]] = {
    "nothing": (),
    # No draft is ever right: none is always best.
    "drafts": (DRAFTS,),
    # What runs costs no time: the largest batch is always best.
    "batch": ((simulator, "deploy", _deploy_freely),),
    # All weights are those of INT8: it does not matter which.
    "precision": (PRECISION,),
    # All GPUs do both, whatever is set.
    "split": ((simulator, "deploy", _deploy_together),),
    # Other weights are there at once.
    "loading": LOADING,
    "all": (DRAFTS, PRECISION, (simulator, "deploy", _deploy_alike), *LOADING),
}


@contextmanager
def switched_off(name: str) -> Iterator[None]:
    """Change the physics of this process, and of those that it forks, for a while."""
    with ExitStack() as changes:
        for change in OFF[name]:
            changes.enter_context(patch.object(*change))
        hardware.deploy.cache_clear()
        try:
            yield
        finally:
            hardware.deploy.cache_clear()


def compare_in(off: str, task: str, options: argparse.Namespace) -> Compared:
    """Tune a constant, train a policy, and score both in a world without a trade-off."""
    with switched_off(off):
        tuning = range(options.tuning_episodes)
        constants = map(Fixed, list_constants())
        best = score_all(task, constants, tuning, n_processes=options.jobs)[0].agent
        assert isinstance(best, Fixed)
        fixed = _score(task, best.decide, options)
        ppo = _score(task, _train(task, options).decide, options)
    return Compared(
        off, task, tell_settings(best.settings), mean(fixed), mean(ppo), compare(ppo, fixed)
    )


def _score(task: str, decide: Decide, options: argparse.Namespace) -> list[float]:
    seeds = range(SEED0, SEED0 + options.episodes)
    # Forked, as the physics is that of this process.
    with get_context("fork").Pool(options.jobs) as pool:
        return pool.map(partial(score_episode, task, decide), seeds)


def _train(task: str, options: argparse.Namespace) -> Network:
    settings = {"n_windows": options.steps, "seed": options.seed, "n_jobs": options.jobs}
    *_, (policy, _) = train(task, **settings, constant=None)
    return Network(policy.export())


def tell(row: Compared) -> str:
    """Return a line of the table."""
    gap = f"{row.gap.mean:+.4f} +- {row.gap.se:.4f}, ahead on {row.gap.wins:.0%}"
    return f"{row.task} without {row.off}: constant {row.fixed:.4f}, ppo {row.ppo:.4f}, {gap}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Ablate; 2 where an option cannot be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--task", choices=[*TASKS, "all"], default=BURSTY.id)
    parser.add_argument("--off", nargs="+", choices=OFF, default=list(OFF))
    parser.add_argument("--steps", type=int, default=86_400, help="windows of training (86400)")
    parser.add_argument("--episodes", type=int, default=200, help="seeds that are scored (200)")
    parser.add_argument("--tuning-episodes", type=int, default=10, help="for the constants (10)")
    parser.add_argument("--seed", type=int, default=0, help="of the training (0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--json", type=Path, help="write figures to this file, row by row")
    options = parser.parse_args(arguments)
    for name, least in LEAST.items():
        if (value := getattr(options, name)) < least:
            parser.error(f"--{name.replace('_', '-')} must be {least} or more: {value}")
    rows = []
    for task in TASKS if options.task == "all" else [options.task]:
        for off in options.off:
            rows.append(compare_in(off, task, options))
            print(tell(rows[-1]), flush=True)
            if options.json:
                written = [{**row._asdict(), "gap": row.gap._asdict()} for row in rows]
                options.json.write_text(json.dumps(written, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
